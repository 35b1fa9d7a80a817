import { decodeId } from "@latchkey/db/ids";
import type pg from "pg";
import { toUuid } from "../support/inspection.ts";

/** Adds requests of the last day to the statistics of an API key. @param workspaceId null for requests that concern no workspace. */
export async function addKeyUsage(
  database: pg.Client,
  { keyId, workspaceId }: { readonly keyId: string; readonly workspaceId: string | null },
): Promise<void> {
  await database.query(
    `insert into key_usage_hours (key_id, hour, workspace_id, outcome, count)
    select $1::uuid, date_trunc('hour', now()) - hours * interval '1 hour', $2::uuid, outcome, count
    from generate_series(1, 23) hours
    cross join lateral (values
      ('admitted', 30 + hours * 37 % 53 + case when hours % 24 between 8 and 16 then 20 else 0 end),
      ('limited', case hours when 7 then 18 when 15 then 9 else 0 end),
      ('permission-not-in-key', case hours % 6 when 2 then 5 else 0 end)) outcomes (outcome, count)
    where count > 0`,
    [toUuid(keyId), workspaceId === null ? null : decodeId("workspace", workspaceId)],
  );
}
