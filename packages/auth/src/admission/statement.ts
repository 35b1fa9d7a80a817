import type { KeyId, UserId, WorkspaceId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/schema";
import pg from "pg";
import type { KeyFacts } from "./judge.ts";

/** The uses of one key in a batch, to be counted if its version is still this. */
export interface Ask {
  readonly keyId: KeyId;
  readonly uses: number;
  readonly version: number;
}

/** A key that the node must look up, and the workspace in which it must know its user's role. */
export interface Probe {
  /** In base64. */
  readonly digest: string;
  readonly workspaceId: WorkspaceId | undefined;
}

/** What a batch met beside what it counted. */
export interface Findings {
  /** Asks that were not counted, with the version of their key as it is now; undefined for a key that is gone. */
  readonly uncounted: ReadonlyMap<KeyId, number | undefined>;
  /** The facts of each probe, in their order; undefined for a digest that no key has. */
  readonly probed: readonly (KeyFacts | undefined)[];
}

/** The batch, in the order of its keys: a row a key, with its uses and the version that the node judged by. */
const asked = `
asked as materialized (
  select * from unnest($1::uuid[], $2::integer[], $3::integer[]) as asked (key_id, uses, version)
  order by key_id
)`;

/**
 * Counts a batch of remembered keys in one statement, which is one transaction and one WAL flush for all. Answers
 * only the exceptions: the keys that it did not count, because their version has moved or their row is gone.
 *
 * - The update meets a row that another transaction has changed by waiting for it, and then looks at the version
 *   again, as it stands after that transaction.
 * - It locks rows as it goes. The plan (a nested loop over `asked`, see the tests) takes them in the order of their
 *   keys, as everything does that locks counters, so that two nodes do not deadlock. To lock them all beforehand
 *   would promise the order in SQL itself and cost a third more; if a planner ever took another one, the lock
 *   timeout would end the wait, and that is an abort that certainly changed nothing.
 */
export const countText = `
with ${asked},
counted as (
  update key_counters counter
  set use_count = counter.use_count + asked.uses,
      last_used_at = greatest(counter.last_used_at, clock_timestamp())
  from asked
  where counter.key_id = asked.key_id and counter.version = asked.version
  returning counter.key_id
)
select key_id from asked where key_id not in (select key_id from counted)`;

/**
 * For all that the first statement cannot settle: keys that were not counted, and keys of which the node does not know
 * enough. Counts what can be counted without waiting for anybody, and reads what there is to know of the others.
 *
 * - `locked` takes the rows whose version still holds and that nobody else has.
 * - The first half of the answer names the asks that were not counted, with the version of their key. One whose version
 *   still holds is locked by another.
 * - The second half has the facts of the keys probed, each with its user's role in the workspace asked for. All of it
 *   sees one snapshot, taken after the requests arrived, so that facts and version belong together.
 */
export const resolveText = `
with ${asked},
probed as materialized (
  select * from unnest($4::bytea[], $5::uuid[]) with ordinality as probed (hash, workspace_id, position)
),
locked as materialized (
  select counter.key_id, asked.uses
  from asked
  join key_counters counter on counter.key_id = asked.key_id
  where counter.version = asked.version
  order by counter.key_id
  for no key update of counter skip locked
),
counted as (
  update key_counters counter
  set use_count = counter.use_count + locked.uses,
      last_used_at = greatest(counter.last_used_at, clock_timestamp())
  from locked
  where counter.key_id = locked.key_id
  returning counter.key_id
)
select null::bigint as position, asked.key_id, counter.version,
  null::uuid as user_id, null::boolean as is_deleted, null::boolean as is_user_disabled, null::text as role
from asked
left join key_counters counter on counter.key_id = asked.key_id
where asked.key_id not in (select key_id from counted)
union all
select probed.position, key.id, counter.version,
  key.user_id, key.deleted_at is not null, account.disabled_at is not null,
  (select role from members where workspace_id = probed.workspace_id and user_id = key.user_id)
from probed
join api_keys key on key.hash = probed.hash
join key_counters counter on counter.key_id = key.id
join users account on account.id = key.user_id`;

interface UncountedRow {
  readonly position: null;
  readonly key_id: KeyId;
  readonly version: number | null;
}

interface ProbedRow {
  /** Of the probe, counted from 1. */
  readonly position: number;
  readonly key_id: KeyId;
  readonly user_id: UserId;
  readonly version: number;
  readonly is_deleted: boolean;
  readonly is_user_disabled: boolean;
  readonly role: Role | null;
}

/**
 * Session settings for the connection that runs the statements. Their plans are made once, for any batch; without
 * these the planner would choose by the size the table happens to have, and a full scan chosen while it is
 * small would stay when it is large. Lock waits end early, so that one tenant's transaction holds up nobody.
 */
export const sessionSettings = [
  "plan_cache_mode=force_generic_plan",
  "enable_seqscan=off",
  "enable_hashjoin=off",
  "enable_mergejoin=off",
  "enable_memoize=off",
  "jit=off",
  "synchronous_commit=on",
  "lock_timeout=100",
  "statement_timeout=1400",
] as const;

/** Runs {@link countText}; answers the keys that were not counted. @throws what the driver throws. */
export async function countUses(client: pg.Client, asks: readonly Ask[]): Promise<readonly KeyId[]> {
  const { rows } = await client.query<[KeyId]>({
    name: "admit-count",
    text: countText,
    values: toArrays(asks),
    rowMode: "array",
  });
  return rows.map(([keyId]) => keyId);
}

/** Runs {@link resolveText}. @throws what the driver throws. */
export async function resolveUses(
  client: pg.Client,
  asks: readonly Ask[],
  probes: readonly Probe[],
): Promise<Findings> {
  const { rows } = await client.query<UncountedRow | ProbedRow>({
    name: "admit-resolve",
    text: resolveText,
    values: [
      ...toArrays(asks),
      probes.map(({ digest }) => Buffer.from(digest, "base64")),
      probes.map(({ workspaceId }) => workspaceId ?? null),
    ],
  });
  const uncounted = new Map<KeyId, number | undefined>();
  const probed: (KeyFacts | undefined)[] = probes.map(() => undefined);
  for (const row of rows) {
    if (row.position === null) uncounted.set(row.key_id, row.version ?? undefined);
    else probed[row.position - 1] = readFacts(row, probes[row.position - 1]?.workspaceId);
  }
  return { uncounted, probed };
}

/** Deadlock, serialization failure, lock not had in time: Postgres rolled back and said so. */
export function isCertainAbort(error: unknown): boolean {
  return error instanceof pg.DatabaseError && ["40P01", "40001", "55P03"].includes(error.code ?? "");
}

/** Postgres's own notation, joined at once: the driver would escape each element, and none of these needs it. */
function toArrays(asks: readonly Ask[]): [keyIds: string, uses: string, versions: string] {
  return [
    `{${asks.map(({ keyId }) => keyId).join()}}`,
    `{${asks.map(({ uses }) => uses).join()}}`,
    `{${asks.map(({ version }) => version).join()}}`,
  ];
}

function readFacts(row: ProbedRow, workspaceId: WorkspaceId | undefined): KeyFacts {
  return {
    keyId: row.key_id,
    userId: row.user_id,
    version: row.version,
    isDeleted: row.is_deleted,
    isUserDisabled: row.is_user_disabled,
    roles: new Map(workspaceId && row.role ? [[workspaceId, row.role]] : []),
  };
}
