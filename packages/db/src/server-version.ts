import { sql } from "kysely";
import type { Db } from "./schema.ts";

/** Reads the major version of Postgres, such as 18. */
export async function readServerVersion(db: Db): Promise<number> {
  const { rows } = await sql<{ version: number }>`
    select current_setting('server_version_num')::integer / 10000 as version`.execute(db);
  return rows[0]?.version ?? 0;
}
