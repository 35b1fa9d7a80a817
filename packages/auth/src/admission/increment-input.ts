import type { UserId } from "@latchkey/db/ids";
import { incrementTimes } from "./limit-window.ts";
import type { UsageIncrement } from "./usage-increment.ts";

// The usage increments of a batch as the input of a statement: the SQL that reads the parameters, and the parameters.

/**
 * The positions of the owners whose version has changed. The snapshot of the statement is taken after its requests arrived,
 * so it has every change that was acknowledged before them, and the rows of owners need no lock.
 */
const changedOwners = `
changed_owner as materialized (
  select owner.position::integer
  from unnest($5::uuid[], $6::integer[]) with ordinality as owner (id, version, position)
  left join owner_versions stored on stored.owner_id = owner.id
  where coalesce(stored.version, 0) <> owner.version
)`;

/** Whether the version of the increment's owner is current. The array is built once per statement, and is almost always empty. */
export const isOwnerCurrent = "input.owner <> all (array(select position from changed_owner))";

/**
 * The usage increments of keys without expiry and rate limit, ordered by key: a row per key, with its uses, the version of
 * the facts by which the node allowed them, and the position of its owner.
 */
export const incrementsWithoutExpiry = `${changedOwners},
input as materialized (
  select * from unnest($1::uuid[], $2::integer[], $3::integer[], $4::integer[])
    as input (key_id, uses, version, owner)
  order by key_id
)`;

/** The same for keys that may expire. */
export const incrementsWithExpiry = `${changedOwners},
input as materialized (
  select * from unnest($1::uuid[], $2::integer[], $3::integer[], $4::integer[], $7::timestamptz[])
    as input (key_id, uses, version, owner, valid_until)
  order by key_id
)`;

/**
 * The same for any keys. The statement reads the clock once, after its requests arrived and before they are answered.
 */
export const allIncrements = `
clock as materialized (select clock_timestamp() as now), ${changedOwners},
input as materialized (
  select key_id, uses, version, owner, valid_until, quota, window_seconds, position, ${incrementTimes}
  from unnest(
      $1::uuid[], $2::integer[], $3::integer[], $4::integer[], $7::timestamptz[], $8::integer[], $9::integer[]
    ) with ordinality as input (key_id, uses, version, owner, valid_until, quota, window_seconds, position), clock
  order by key_id
)`;

/** Whether an increment can be counted: both versions are current, and the key has not expired. */
export const isCurrent = `counter.version = input.version and ${isOwnerCurrent}
    and (input.valid_until is null or input.valid_until > input.now)`;

/**
 * The parameters of {@link incrementsWithoutExpiry}, as array literals for Postgres. The driver would escape each element, and none of
 * these needs escaping.
 */
export function listWithoutExpiry(increments: readonly UsageIncrement[]): string[] {
  const owners = listOwners(increments);
  return [
    `{${increments.map(({ keyId }) => keyId).join()}}`,
    `{${increments.map(({ uses }) => uses).join()}}`,
    `{${increments.map(({ version }) => version).join()}}`,
    `{${owners.positions.join()}}`,
    `{${owners.ids.join()}}`,
    `{${owners.versions.join()}}`,
  ];
}

/**
 * The owners of keys, each once, because a batch often has many keys of an owner. If facts of one owner have two versions, it
 * is listed with each.
 */
function listOwners(increments: readonly UsageIncrement[]): {
  /** The position of the owner of each increment, from 1. */
  readonly positions: readonly number[];
  readonly ids: readonly UserId[];
  readonly versions: readonly number[];
} {
  const ids: UserId[] = [];
  const versions: number[] = [];
  const known = new Map<UserId, number>();
  const positions = increments.map(({ ownerId, ownerVersion }) => {
    const position = known.get(ownerId);
    if (position !== undefined && versions[position - 1] === ownerVersion) return position;
    versions.push(ownerVersion);
    known.set(ownerId, ids.push(ownerId));
    return ids.length;
  });
  return { positions, ids, versions };
}

/** The parameters of {@link incrementsWithExpiry}. */
export function listWithExpiry(increments: readonly UsageIncrement[]): string[] {
  return [
    ...listWithoutExpiry(increments),
    `{${increments.map(({ validUntil }) => validUntil ?? "null").join()}}`,
  ];
}

/** The parameters of {@link allIncrements}. */
export function listAll(increments: readonly UsageIncrement[]): string[] {
  const hasExpiries = increments.some(({ validUntil }) => validUntil !== null);
  return [
    // `unnest` pads shorter arrays with nulls.
    ...(hasExpiries ? listWithExpiry(increments) : [...listWithoutExpiry(increments), "{}"]),
    `{${increments.map(({ limit }) => limit?.quota ?? "null").join()}}`,
    `{${increments.map(({ limit }) => limit?.windowSeconds ?? "null").join()}}`,
  ];
}
