import type { UserId } from "@latchkey/db/ids";
import type pg from "pg";
import { toUuidArray } from "./array-parameter.ts";
import type { NamedRequest } from "./verification.ts";

/**
 * Claims all `Idempotency-Key`s of users for verifications until the transaction ends. Call it after the counters were locked and
 * before the records are read. Without requests, no statement is sent.
 *
 * Two API keys of one user can send one `Idempotency-Key` to two nodes. If their requests verify different keys, they lock no common
 * counter.
 *
 * There is one lock per user, because a batch can have more `Idempotency-Key`s than Postgres has room for locks. Transactions wait for
 * these locks in the order of the hashes, so that two can't deadlock.
 * @param options.skipsClaimed whether to skip users whose `Idempotency-Key`s another transaction has claimed, instead of waiting for it.
 * @returns the users that were skipped.
 * @throws what the driver throws; a definite abort if a lock takes too long.
 */
export async function claimNames(
  client: pg.Client,
  requests: readonly Pick<NamedRequest, "userId">[],
  { skipsClaimed }: { readonly skipsClaimed: boolean },
): Promise<ReadonlySet<UserId>> {
  if (requests.length === 0) return new Set();
  const userIds = new Set(requests.map(({ userId }) => userId));
  const { rows } = await client.query<[UserId]>({
    ...(skipsClaimed
      ? { name: "verify-claim-free-names", text: claimFreeText }
      : { name: "verify-claim-names", text: claimText }),
    values: [toUuidArray([...userIds])],
    rowMode: "array",
  });
  return new Set(rows.map(([userId]) => userId));
}

const hash = "hashtextextended('latchkey verification names ' || user_id, 0)";

/** `pg_advisory_xact_lock` never returns null, so this returns no row. */
const claimText = `
with name_lock as materialized (
  select distinct ${hash} as hash from unnest($1::uuid[]) as input (user_id) order by hash
)
select null from name_lock where pg_advisory_xact_lock(hash) is null`;

const claimFreeText = `
select user_id from unnest($1::uuid[]) as input (user_id) where not pg_try_advisory_xact_lock(${hash})`;
