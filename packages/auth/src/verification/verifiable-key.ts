import type { ConsumerId, IssuedKeyId, KeyId, KeyspaceId, UserId, WorkspaceId } from "@latchkey/db/ids";
import type { IssuedSettingName, NamedLimit, Refill } from "@latchkey/db/issued-key-settings";
import { createIpMatcher } from "../ip-ranges.ts";

/** A user, workspace, keyspace or consumer that a key belongs to. */
export interface OwnerVersion {
  readonly id: UserId | WorkspaceId | KeyspaceId | ConsumerId;
  /** Changes with every change to the owner that affects the verification of its keys. */
  readonly version: number;
}

/**
 * Everything that decides whether a key is valid in a workspace, as stored in the database at one instant. An issued key
 * belongs to one workspace; an API key has other facts in each workspace that it can reach.
 */
export interface VerifiableKey {
  readonly keyId: IssuedKeyId | KeyId;
  readonly workspaceId: WorkspaceId;
  /** Null for an API key. */
  readonly keyspaceId: KeyspaceId | null;
  /** Changes with every change to the key that affects its verification. */
  readonly version: number;
  /** The keyspace of an issued key, or the user of an API key. */
  readonly owner: OwnerVersion;
  /**
   * Changes when the workspace is disabled or enabled. Null for an API key: the version of its user then changes too, as for
   * admission.
   */
  readonly workspaceVersion: number | null;
  /** Whether the key, its owner or its workspace is disabled. */
  readonly isDisabled: boolean;
  /** Whether the presented secret is new after a rotation and no verification has used it. */
  readonly isUnusedSecret: boolean;
  /** In milliseconds since the epoch; null for never. */
  readonly expiresAt: number | null;
  /** When the overlap of the presented old secret ends, in milliseconds since the epoch; null for the current secret. */
  readonly overlapEndsAt: number | null;
  /** Null for an API key, like the next field. */
  readonly name: string | null;
  readonly meta: Readonly<Record<string, unknown>> | null;
  readonly permissions: readonly string[];
  /** The same permissions, for permission queries. */
  readonly grantedPermissions: ReadonlySet<string>;
  readonly limits: readonly NamedLimit[];
  readonly refill: Refill | null;
  /** Whether the key has a balance of credits, which only its counter has. */
  readonly hasCredits: boolean;
  /** When the key becomes idle in the workspace, in milliseconds since the epoch; null for never. */
  readonly idleAt: number | null;
  /** Whether an IP address is in one of the key's ranges; undefined for a key without ranges. */
  readonly allowsAddress: ((address: string) => boolean) | undefined;
  readonly consumer: ConsumerFacts | null;
}

/** The consumer that a key was issued to. */
export interface ConsumerFacts {
  readonly id: ConsumerId;
  readonly externalId: string;
  readonly version: number;
  /** The limits that all keys of the consumer share. */
  readonly limits: readonly NamedLimit[];
}

/** A key that a keyspace has, by the digest of one of its secrets. It needs `lookup` with a `hash`. */
const keyOfSecret = `
  select key.*, null::timestamptz as good_until from issued_keys key where key.hash = lookup.hash
  union all
  select key.*, former.good_until
  from retired_issued_secrets former
  join lateral (select * from issued_keys where id = former.key_id offset 0) key on true
  where former.hash = lookup.hash`;

/**
 * The most keys that are read per digest. Several workspaces can store the same key. The oldest ones are read, so that storing
 * a key again in other workspaces doesn't displace it.
 */
const maxCandidates = 16;

/** SQL for each setting as a fact of a key. */
const settingFacts: Readonly<Record<IssuedSettingName, string>> = {
  isDisabled:
    "key.disabled_at is not null or keyspace.disabled_at is not null or workspace.disabled_at is not null",
  expiresAt: "extract(epoch from key.expires_at) * 1000",
  name: "key.name",
  meta: "key.meta",
  permissions: "key.permissions",
  limits: "key.limits",
  refill: "key.refill",
  ipRanges: "key.ip_ranges",
};

/**
 * SQL for the facts of the keys of `lookup`, oldest first. A key of a deleted keyspace is not found. `offset 0` keeps the
 * planner from reading a whole table while it has few rows, because the plan is kept when it has more.
 */
export const findIssuedKeys = `
  select json_agg(facts order by id) from (
    select key.id, json_build_object(
      'keyId', key.id,
      'workspaceId', key.workspace_id,
      'keyspaceId', key.keyspace_id,
      'version', counter.version,
      'owner', json_build_object(
        'id', key.keyspace_id,
        'version', coalesce((select version from owner_versions where owner_id = key.keyspace_id), 0)
      ),
      'workspaceVersion', coalesce((select version from owner_versions where owner_id = key.workspace_id), 0),
      ${Object.entries(settingFacts)
        .map(([name, expression]) => `'${name}', ${expression}`)
        .join(", ")},
      'isUnusedSecret', key.good_until is null and counter.has_unused_secret is true,
      'overlapEndsAt', case when key.good_until = '-infinity' then 0
        else extract(epoch from key.good_until) * 1000 end,
      'hasCredits', counter.credits is not null,
      'consumer', case when consumer.id is not null then json_build_object(
        'id', consumer.id,
        'externalId', consumer.external_id,
        'version', coalesce((select version from owner_versions where owner_id = consumer.id), 0),
        'limits', consumer.limits
      ) end
    ) as facts
    from (${keyOfSecret}) key
    join lateral (
      select version, has_unused_secret, credits from key_counters where key_id = key.id offset 0
    ) counter on true
    join lateral (select disabled_at from keyspaces where id = key.keyspace_id offset 0) keyspace on true
    join lateral (select disabled_at from workspaces where id = key.workspace_id offset 0) workspace on true
    left join lateral (
      select id, external_id, limits from consumers where id = key.consumer_id offset 0
    ) consumer on true
    order by key.id limit ${maxCandidates}
  ) candidate`;

/** An element of {@link findIssuedKeys}. */
export type StoredIssuedKey = Omit<VerifiableKey, "allowsAddress" | "idleAt" | "grantedPermissions"> & {
  readonly ipRanges: readonly string[] | null;
};

export function toVerifiableKey({ ipRanges, ...facts }: StoredIssuedKey): VerifiableKey {
  return {
    ...facts,
    grantedPermissions: new Set(facts.permissions),
    idleAt: null,
    allowsAddress: ipRanges ? createIpMatcher(ipRanges) : undefined,
  };
}
