import type { KeyId, WorkspaceId } from "@latchkey/db/ids";
import type pg from "pg";
import type { Ask, Counted } from "./ask.ts";
import { countOne } from "./count-one.ts";
import { type FoundFacts, foundFacts, keyOfSecret, readFacts } from "./found-facts.ts";
import type { KeyFacts } from "./judge.ts";
import { askedTimes, granted, nothingSpent, type Spent, spend, windowState } from "./spend.ts";

/** A key that the node must look up, and the workspace in which it must know its user's role. */
export interface Probe {
  /** In base64. */
  readonly digest: string;
  readonly workspaceId: WorkspaceId | undefined;
}

/** Why an ask was not counted. */
interface Uncounted {
  /** The version of the key as it is now; null for a key that is gone. */
  readonly version: number | null;
  /** Whether its time is over. */
  readonly isOver: boolean;
}

/** What a batch met beside what it counted. */
export interface Findings {
  readonly uncounted: ReadonlyMap<KeyId, Uncounted>;
  readonly spent: ReadonlyMap<KeyId, Spent>;
  /** The facts of each probe, in their order; undefined for a digest that no key has. */
  readonly probed: readonly (KeyFacts | undefined)[];
}

/**
 * A batch of keys without an end and a limit, in the order of its keys: a row a key, with its uses and the version that
 * the node judged by.
 */
const askedPlainly = `
asked as materialized (
  select * from unnest($1::uuid[], $2::integer[], $3::integer[]) as asked (key_id, uses, version)
  order by key_id
)`;

/** The same for keys that may have an end. */
const askedWithEnds = `
asked as materialized (
  select * from unnest($1::uuid[], $2::integer[], $3::integer[], $4::timestamptz[])
    as asked (key_id, uses, version, good_until)
  order by key_id
)`;

/** The same for any keys. All of the statement goes by one instant, after its requests came and before they are answered. */
const asked = `
clock as materialized (select clock_timestamp() as now),
asked as materialized (
  select key_id, uses, version, good_until, quota, window_seconds, position, ${askedTimes}
  from unnest($1::uuid[], $2::integer[], $3::integer[], $4::timestamptz[], $5::integer[], $6::integer[])
    with ordinality as asked (key_id, uses, version, good_until, quota, window_seconds, position), clock
  order by key_id
)`;

/**
 * Counts a batch of remembered keys that have neither an end nor a limit in one statement, which is one transaction and
 * one WAL flush for all. Answers only the exceptions: the keys that it did not count, because their version has moved or
 * their row is gone.
 *
 * - The update meets a row that another transaction has changed by waiting for it, and then looks at the version
 *   again, as it stands after that transaction.
 * - It locks rows as it goes. The plan (a nested loop over `asked`, see the tests) takes them in the order of their
 *   keys, as everything does that locks counters, so that two nodes do not deadlock. To lock them all beforehand
 *   would promise the order in SQL itself and cost a third more; if a planner ever took another one, the lock
 *   timeout would end the wait, and that is an abort that certainly changed nothing.
 */
export const countText = composeCount(askedPlainly);

/** The same where a key of the batch has an end: one that is over is not counted. */
export const countWithEndsText = composeCount(
  askedWithEnds,
  "and (asked.good_until is null or asked.good_until > clock_timestamp())",
);

function composeCount(asked: string, condition = ""): string {
  return `
with ${asked},
counted as (
  update key_counters counter
  set use_count = counter.use_count + asked.uses,
      last_used_at = greatest(counter.last_used_at, clock_timestamp())
  from asked
  where counter.key_id = asked.key_id and counter.version = asked.version ${condition}
  returning counter.key_id
)
select key_id from asked
where cardinality($1::uuid[]) > (select count(*) from counted) and key_id not in (select key_id from counted)`;
}

/**
 * The same where a key of the batch has a limit. Answers the exceptions, and how each limit stands, by places
 * in the batch, from 1, and in one row: a row for each would cost the node more than all the rest of it. The state of a
 * limit is four numbers: its place, what it granted, what remains, and the seconds until it resets.
 */
export const spendText = `
with ${asked},
spent as (
  update key_counters counter
  set ${spend}
  from asked
  where counter.key_id = asked.key_id and counter.version = asked.version
    and (asked.good_until is null or asked.good_until > asked.now)
  returning asked.position, asked.quota, ${windowState}
)
select
  (select string_agg(concat_ws(',', position, granted, remaining, resets_in_seconds), ';')
    from spent where quota is not null) as spent,
  (select string_agg(position::text, ',') from asked
    where cardinality($1::uuid[]) > (select count(*) from spent)
      and position not in (select position from spent)) as uncounted`;

/**
 * For all that counting cannot settle: keys that were not counted, and keys of which the node does not know
 * enough. Counts what can be counted without waiting for anybody, and reads what there is to know of the others.
 *
 * - `locked` takes the rows whose version still holds, that are not over, and that nobody else has.
 * - The answer names the asks that were not counted, with the version of their key. One whose version still holds, and
 *   that is not over, is locked by another.
 * - It has how each limit stands that was counted.
 * - It marks the secrets of `$9` as used, by key. They are new ones after a rotation, and the mark is committed with the
 *   first use, so that nobody ever takes a used secret for an unused one. No other statement counts such a secret.
 * - It has the facts of the keys probed, each with its user's role in the workspace asked for. All of it sees one
 *   snapshot, taken after the requests arrived, so that facts and version belong together.
 */
export const resolveText = `
with ${asked},
probed as materialized (
  select * from unnest($7::bytea[], $8::uuid[]) with ordinality as probed (hash, workspace_id, position)
),
locked as materialized (
  select asked.*
  from asked
  join key_counters counter on counter.key_id = asked.key_id
  where counter.version = asked.version and (asked.good_until is null or asked.good_until > asked.now)
  order by counter.key_id
  for no key update of counter skip locked
),
spent as (
  update key_counters counter
  set ${spend},
    has_unused_secret = case
      when counter.key_id = any($9::uuid[]) and ${granted} > 0 then null
      else counter.has_unused_secret end
  from locked asked
  where counter.key_id = asked.key_id
  returning asked.key_id, asked.quota, ${windowState}
)
select 'uncounted' as kind, null::bigint as position, asked.key_id,
  json_build_object('version', counter.version, 'isOver', coalesce(asked.good_until <= asked.now, false)) as detail
from asked
left join key_counters counter on counter.key_id = asked.key_id
where asked.key_id not in (select key_id from spent)
union all
select 'spent', null, key_id,
  json_build_object('granted', granted, 'remaining', remaining, 'resetsInSeconds', resets_in_seconds)
from spent
where quota is not null
union all
select 'probed', probed.position, key.id, ${foundFacts}
from probed
join lateral (${keyOfSecret}) key on true
join key_counters counter on counter.key_id = key.id
join users account on account.id = key.user_id`;

interface ResolvedRow<Kind extends string, Detail> {
  readonly kind: Kind;
  readonly key_id: KeyId;
  readonly detail: Detail;
}

type Row =
  | ResolvedRow<"uncounted", Uncounted>
  | ResolvedRow<"spent", Spent>
  /** The position of the probe counts from 1. */
  | (ResolvedRow<"probed", FoundFacts> & { readonly position: number });

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

/** Counts a batch, by the text that it takes. @throws what the driver throws. */
export async function countUses(client: pg.Client, asks: readonly Ask[]): Promise<Counted> {
  const [first] = asks;
  if (first && asks.length === 1) return await countOne(client, first);
  if (asks.some(({ limit }) => limit !== null)) return await spendUses(client, asks);
  const haveEnds = asks.some(({ goodUntil }) => goodUntil !== null);
  const { rows } = await client.query<[KeyId]>({
    ...(haveEnds
      ? { name: "admit-count-with-ends", text: countWithEndsText, values: listWithEnds(asks) }
      : { name: "admit-count", text: countText, values: listPlainly(asks) }),
    rowMode: "array",
  });
  return { uncounted: rows.map(([keyId]) => keyId), spent: nothingSpent };
}

async function spendUses(client: pg.Client, asks: readonly Ask[]): Promise<Counted> {
  const { rows } = await client.query<[string | null, string | null]>({
    name: "admit-spend",
    text: spendText,
    values: list(asks),
    rowMode: "array",
  });
  const [states, uncounted] = rows[0] ?? [];
  const keyAt = (place: number): KeyId => (asks[place - 1] as Ask).keyId; // They are places of these asks.
  const spent = new Map<KeyId, Spent>();
  for (const state of states ? states.split(";") : []) {
    const [place = 0, granted = 0, remaining = 0, resetsInSeconds = 0] = readNumbers(state);
    spent.set(keyAt(place), { granted, remaining, resetsInSeconds });
  }
  return { uncounted: readNumbers(uncounted).map(keyAt), spent };
}

/** Reads what `string_agg` made of numbers: null where there were none. */
function readNumbers(list: string | null | undefined): number[] {
  return list ? list.split(",").map(Number) : [];
}

/**
 * Runs {@link resolveText}.
 * @param firstUses the keys of asks by a secret that was unused when it was looked up.
 * @throws what the driver throws.
 */
export async function resolveUses(
  client: pg.Client,
  {
    asks,
    probes,
    firstUses,
  }: {
    readonly asks: readonly Ask[];
    readonly probes: readonly Probe[];
    readonly firstUses: readonly KeyId[];
  },
): Promise<Findings> {
  const { rows } = await client.query<Row>({
    name: "admit-resolve",
    text: resolveText,
    values: [
      ...list(asks),
      probes.map(({ digest }) => Buffer.from(digest, "base64")),
      probes.map(({ workspaceId }) => workspaceId ?? null),
      firstUses,
    ],
  });
  const uncounted = new Map<KeyId, Uncounted>();
  const spent = new Map<KeyId, Spent>();
  const probed: (KeyFacts | undefined)[] = probes.map(() => undefined);
  for (const row of rows) {
    const { kind, key_id: keyId, detail } = row;
    if (kind === "uncounted") uncounted.set(keyId, detail);
    else if (kind === "spent") spent.set(keyId, detail);
    else probed[row.position - 1] = readFacts(row.detail, probes[row.position - 1]?.workspaceId);
  }
  return { uncounted, spent, probed };
}

/** Postgres's own notation, joined at once: the driver would escape each element, and none of these needs it. */
function listPlainly(asks: readonly Ask[]): string[] {
  return [
    `{${asks.map(({ keyId }) => keyId).join()}}`,
    `{${asks.map(({ uses }) => uses).join()}}`,
    `{${asks.map(({ version }) => version).join()}}`,
  ];
}

function listWithEnds(asks: readonly Ask[]): string[] {
  return [...listPlainly(asks), `{${asks.map(({ goodUntil }) => goodUntil ?? "null").join()}}`];
}

function list(asks: readonly Ask[]): string[] {
  const haveEnds = asks.some(({ goodUntil }) => goodUntil !== null);
  return [
    // Lists that are shorter than the others are filled up with nulls.
    ...(haveEnds ? listWithEnds(asks) : [...listPlainly(asks), "{}"]),
    `{${asks.map(({ limit }) => limit?.quota ?? "null").join()}}`,
    `{${asks.map(({ limit }) => limit?.windowSeconds ?? "null").join()}}`,
  ];
}
