import { verificationLifetimeHours } from "@latchkey/db/idempotency-records";
import type pg from "pg";
import type { KeyFacts } from "../admission/decision.ts";
import type { KeyLookup } from "../admission/resolve-statement.ts";
import { factsAsJson, keyOfSecret, type StoredFacts, toKeyFacts } from "../admission/stored-facts.ts";
import { apiKeyLimitName } from "./api-key-target.ts";
import { toArray, toIntegerArray, toUuidArray } from "./array-parameter.ts";
import type { Counter, CounterId, EarlierRequest, SpentKey } from "./decide-verification.ts";
import type { MeterState, Window } from "./meters.ts";
import type { OwnerVersion } from "./verifiable-key.ts";
import type { NamedRequest } from "./verification.ts";

/** Finds API keys; undefined for a digest that no key has. */
export async function findApiKeys(
  client: pg.Client,
  lookups: readonly KeyLookup[],
): Promise<readonly (KeyFacts | undefined)[]> {
  const found: (KeyFacts | undefined)[] = lookups.map(() => undefined);
  const { rows } = await client.query<[number, StoredFacts]>({
    name: "verify-find-api-keys",
    text: `
      select lookup.position::integer, ${factsAsJson}
      from unnest($1::bytea[], $2::uuid[]) with ordinality as lookup (hash, workspace_id, position)
      join lateral (${keyOfSecret}) key on true
      join lateral (
        select version, has_unused_secret from key_counters where key_id = key.id offset 0
      ) counter on true
      join lateral (
        select disabled_at, service_workspace_id from users where id = key.user_id offset 0
      ) account on true`,
    values: [
      lookups.map(({ digest }) => Buffer.from(digest, "base64")),
      lookups.map(({ workspaceId }) => workspaceId ?? null),
    ],
    rowMode: "array",
  });
  for (const [position, facts] of rows)
    found[position - 1] = toKeyFacts(facts, lookups[position - 1]?.workspaceId);
  return found;
}

/**
 * Locks counters in the order of their IDs, as every other statement does, so that two can't deadlock. The versions of owners
 * are read without a lock: the snapshot is taken after the requests arrived, so it has every change that was acknowledged
 * before them. Each row has the time after its lock. `extract` calculates with decimal numbers, which
 * takes 0.2 µs more per time.
 */
const lockText = (lock: string) => `
with changed_owner as materialized (
  select owner.position
  from unnest($2::uuid[], $3::integer[]) with ordinality as owner (id, version, position)
  left join owner_versions stored on stored.owner_id = owner.id
  where coalesce(stored.version, 0) <> owner.version
),
locked as materialized (
  select counter.*
  from unnest($1::uuid[]) as input (key_id)
  join key_counters counter on counter.key_id = input.key_id
  order by counter.key_id
  ${lock}
)
select key_id, version,
  date_part('epoch', window_ends_at) * 1000, window_spent::float8,
  credits::float8, date_part('epoch', credits_refilled_at) * 1000, windows,
  date_part('epoch', clock_timestamp()) * 1000,
  (select array_agg(position) from changed_owner)::integer[]
from locked`;

type CounterRow = readonly [
  id: CounterId,
  version: number,
  windowEndsAt: number | null,
  windowSpent: number | null,
  credits: number | null,
  refilledAt: number | null,
  windows: StoredWindows | null,
  now: number,
  changedOwners: readonly number[] | null,
];

/** The windows of an issued key or consumer: when each ends, in milliseconds since the epoch, and what was spent. */
type StoredWindows = Readonly<Record<string, readonly [endsAt: number, spent: number]>>;

/** The counters used to decide a batch, locked until the transaction ends. */
export interface LockedCounters {
  /** A missing one doesn't exist, or is locked by another transaction and was skipped. */
  readonly counters: ReadonlyMap<CounterId, Counter>;
  readonly changedOwners: readonly OwnerVersion[];
  /** The database's time after the last lock, in milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Locks counters, in a transaction.
 * @param options.skipsLocked whether to skip counters that another transaction has locked, instead of waiting for them.
 * @throws what the driver throws; a definite abort if a lock takes too long.
 */
export async function lockCounters(
  client: pg.Client,
  ids: readonly CounterId[],
  { owners, skipsLocked }: { readonly owners: readonly OwnerVersion[]; readonly skipsLocked: boolean },
): Promise<LockedCounters> {
  const { rows } = await client.query<CounterRow & unknown[]>({
    ...(skipsLocked
      ? { name: "verify-lock-free", text: lockText("for no key update of counter skip locked") }
      : { name: "verify-lock", text: lockText("for no key update of counter") }),
    values: [
      toUuidArray(ids),
      toUuidArray(owners.map(({ id }) => id)),
      toIntegerArray(owners.map(({ version }) => version)),
    ],
    rowMode: "array",
  });
  const changed = rows[0]?.[8] ?? [];
  return {
    counters: new Map(rows.map((row) => [row[0], toCounter(row)])),
    changedOwners: changed.map((position) => owners[position - 1] as OwnerVersion), // Postgres returns positions of these owners.
    now: Math.max(0, ...rows.map((row) => row[7])),
  };
}

function toCounter(row: CounterRow): Counter {
  const [id, version, windowEndsAt, windowSpent, credits, refilledAt, stored] = row;
  const windows = new Map<string, Window>();
  if (windowEndsAt !== null) windows.set(apiKeyLimitName, { endsAt: windowEndsAt, spent: windowSpent ?? 0 });
  for (const [name, [endsAt, spent]] of Object.entries(stored ?? {})) windows.set(name, { endsAt, spent });
  const balance = credits === null ? null : { remaining: credits, refilledAt: refilledAt ?? 0 };
  return { id, version, uses: 0, isSecretUsed: false, meters: { windows, balance }, isChanged: false };
}

/** Writes what a batch has spent to the counters that it locked. Their rows exist until the transaction ends. */
const writeText = `
update key_counters counter
set use_count = counter.use_count + input.uses,
  last_used_at = case
    when input.uses > 0 then greatest(counter.last_used_at, to_timestamp(input.now)) else counter.last_used_at end,
  has_unused_secret = case when input.is_secret_used then false else counter.has_unused_secret end,
  window_ends_at = to_timestamp(input.window_ends_at),
  window_spent = input.window_spent,
  credits = input.credits,
  credits_refilled_at = to_timestamp(input.refilled_at),
  windows = input.windows::jsonb
from (
  select *, $9::float8 / 1000 as now
  from unnest(
    $1::uuid[], $2::integer[], $3::boolean[], $4::float8[], $5::bigint[], $6::bigint[], $7::float8[], $8::text[]
  ) as input (key_id, uses, is_secret_used, window_ends_at, window_spent, credits, refilled_at, windows)
) input
where counter.key_id = input.key_id`;

/** Writes changed counters. @throws what the driver throws. */
export async function writeCounters(
  client: pg.Client,
  changed: readonly Counter[],
  now: number,
): Promise<void> {
  const rows = changed.map(({ meters }) => toColumns(meters, now));
  await client.query({
    name: "verify-write",
    text: writeText,
    values: [
      toUuidArray(changed.map(({ id }) => id)),
      toIntegerArray(changed.map(({ uses }) => uses)),
      toArray(changed.map(({ isSecretUsed }) => isSecretUsed)),
      toArray(rows.map(({ windowEndsAt }) => windowEndsAt)),
      toArray(rows.map(({ windowSpent }) => windowSpent)),
      toArray(rows.map(({ credits }) => credits)),
      toArray(rows.map(({ refilledAt }) => refilledAt)),
      // These are JSON, which the driver escapes.
      rows.map(({ windows }) => windows),
      now,
    ],
  });
}

function toColumns({ windows, balance }: MeterState, now: number) {
  const own = windows.get(apiKeyLimitName);
  // A window that has ended is the same as none.
  const open = [...windows].filter(([name, { endsAt }]) => name !== apiKeyLimitName && endsAt > now);
  const stored: StoredWindows = Object.fromEntries(
    open.map(([name, { endsAt, spent }]) => [name, [endsAt, spent]]),
  );
  return {
    windowEndsAt: own ? own.endsAt / 1_000 : null,
    windowSpent: own?.spent ?? null,
    credits: balance?.remaining ?? null,
    refilledAt: balance ? balance.refilledAt / 1_000 : null,
    windows: open.length > 0 ? JSON.stringify(stored) : null,
  };
}

/**
 * Finds what earlier requests with these names have spent, after the counters of the requests were locked and the names were
 * claimed, so that no other verification changes the records. Without `offset 0`, a plan that is made while there are few
 * records reads them all, and Postgres keeps that plan when there are more. The age is compared outside, so that only the
 * index of names finds a record.
 */
export async function findEarlier(
  client: pg.Client,
  requests: readonly NamedRequest[],
): Promise<readonly EarlierRequest[]> {
  const { rows } = await client.query<[hash: Buffer | null, answer: StoredSpending | null]>({
    name: "verify-find-records",
    text: `
      select record.request_hash, record.answer
      from unnest($1::uuid[], $2::text[], $3::text[], $4::text[])
        with ordinality as input (user_id, method, path, key, position)
      left join lateral (
        select request_hash, answer, created_at from idempotency_records
        where user_id = input.user_id and method = input.method and path = input.path and key = input.key
        offset 0
      ) record on record.created_at > now() - make_interval(hours => ${verificationLifetimeHours})
      order by position`,
    values: namesOf(requests),
    rowMode: "array",
  });
  return requests.map(({ requestHash }, index) => {
    const [hash, answer] = rows[index] ?? [null, null];
    if (!hash) return { kind: "none" };
    return hash.equals(requestHash) ? { kind: "known", spent: answer?.spent ?? [] } : { kind: "name-reused" };
  });
}

/** What a record holds of a request that verified keys: the keys that it spent from, by verification. */
export interface StoredSpending {
  readonly spent: readonly SpentKey[];
}

/**
 * Records what requests with names have spent, in the order of the names. A record keeps its age, unless it had
 * expired.
 */
export async function recordSpending(
  client: pg.Client,
  requests: readonly (NamedRequest & StoredSpending)[],
): Promise<void> {
  await client.query({
    name: "verify-record",
    text: `
      insert into idempotency_records as known (user_id, method, path, key, request_hash, answer, status)
      select *, 200
      from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::bytea[], $6::json[])
        as spending (user_id, method, path, key, request_hash, answer)
      order by user_id, method, path, key
      on conflict (user_id, method, path, key) do update set
        request_hash = excluded.request_hash, answer = excluded.answer, status = excluded.status,
        created_at = case
          when known.created_at > now() - make_interval(hours => ${verificationLifetimeHours}) then known.created_at
          else now() end`,
    values: [
      ...namesOf(requests),
      requests.map(({ requestHash }) => requestHash),
      requests.map(({ spent }) => JSON.stringify({ spent })),
    ],
  });
}

function namesOf(requests: readonly NamedRequest[]): string[][] {
  return [
    requests.map(({ userId }) => userId),
    requests.map(({ method }) => method),
    requests.map(({ path }) => path),
    requests.map(({ key }) => key),
  ];
}
