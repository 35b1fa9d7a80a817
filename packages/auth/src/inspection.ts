import type { KeyId } from "@latchkey/db/ids";
import { runText } from "@latchkey/db/run-text";
import type { Db } from "@latchkey/db/schema";
import { type Decision, decide, type KeyFacts, type RequestContext } from "./admission/decision.ts";
import { factsAsJson, keyOfSecret, type StoredFacts, toKeyFacts } from "./admission/stored-facts.ts";
import { digestKey, isWellFormedApiKey } from "./key-format.ts";

/** The decision that admission would make about a request. */
export interface Inspection {
  readonly facts: KeyFacts;
  readonly decision: Decision;
  /** The remaining uses in the current window; null without a rate limit. */
  readonly remaining: number | null;
}

/** A key by one of its secrets, or by its ID, which stands for its current secret. */
export type InspectedKey = { readonly token: string } | { readonly keyId: KeyId };

/**
 * Evaluates a request as admission would, by the same facts and rules, without counting it.
 * @param db a connection in the admission role.
 * @returns undefined if there is no such key.
 */
export async function inspectKey(
  db: Db,
  key: InspectedKey,
  context: RequestContext,
): Promise<Inspection | undefined> {
  if ("token" in key && !isWellFormedApiKey(key.token)) return undefined;
  const { requirement } = context;
  const workspaceId = typeof requirement === "object" ? requirement.workspaceId : undefined;
  const hash = "token" in key ? Buffer.from(digestKey(key.token), "base64") : null;
  const keyId = "keyId" in key ? key.keyId : null;
  const [row] = await runText<InspectedRow>(db, inspectText, [hash, workspaceId ?? null, keyId]);
  if (!row) return undefined;
  const facts = toKeyFacts(row.found, workspaceId);
  return { facts, decision: decide(facts, context), remaining: row.remaining };
}

const inspectText = `
with lookup as (
  select coalesce($1::bytea, (select hash from api_keys where id = $3::uuid)) as hash, $2::uuid as workspace_id
)
select ${factsAsJson} as found,
  case when key.limit_quota is not null then greatest(0, key.limit_quota - case
    when counter.window_ends_at > clock_timestamp()
    then counter.window_spent else 0 end)::integer end as remaining
from lookup
join lateral (${keyOfSecret}) key on true
join key_counters counter on counter.key_id = key.id
join users account on account.id = key.user_id`;

interface InspectedRow {
  readonly found: StoredFacts;
  readonly remaining: number | null;
}
