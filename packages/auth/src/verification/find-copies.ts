import type { KeyspaceId, WorkspaceId } from "@latchkey/db/ids";
import type { IssuedSettingName } from "@latchkey/db/issued-key-settings";
import { policyJoins } from "@latchkey/db/key-policy";
import type pg from "pg";
import type { KeyFacts, KeyVersions, Membership } from "../admission/decision.ts";
import { keyWithHash, membershipAsJson } from "../admission/stored-facts.ts";
import { createIpMatcher } from "../ip-ranges.ts";
import { roleHasPermission, roles } from "../permissions.ts";
import { compilePermissions } from "./permission-query.ts";
import type { VerifiableKey } from "./verifiable-key.ts";

/**
 * A secret to look up for a caller. Several workspaces can store a key with the same secret; these keys are called copies. A
 * caller's lookup finds only copies in workspaces that it reaches.
 */
export interface CopyLookup {
  /** SHA-256 of the secret, in base64. */
  readonly digest: string;
  /** SHA-256 of the caller's key; undefined for a member without an API key, who reaches only the named workspace. */
  readonly callerDigest: string | undefined;
  /** The workspace that the key must belong to; undefined for any. */
  readonly workspaceId: WorkspaceId | undefined;
  /** The keyspace that the key must belong to; undefined for any. */
  readonly keyspaceId: KeyspaceId | undefined;
}

/** The copies that a lookup found. */
export interface FoundCopies {
  /**
   * Oldest first, only those in the named place. If the caller reaches many, those that it may verify are among them. A key is found by
   * an old secret only during its overlap.
   */
  readonly keys: readonly VerifiableKey[];
  /** Whether this is the only copy in all workspaces of the instance. An old secret whose overlap has ended counts as another copy. */
  readonly isOnly: boolean;
  /**
   * The caller's memberships in the workspaces of the copies, with the versions of its key when they were read; undefined if the
   * caller has no key, or the key no longer exists.
   */
  readonly caller: (KeyVersions & Pick<KeyFacts, "memberships">) | undefined;
}

/**
 * SQL for the keys with a secret in workspaces. It needs the `lookup` and the `place`. The condition on the array of workspaces is part
 * of an index scan, so that an unknown secret costs about as much for a caller with 200 memberships as for one with a single one: since
 * Postgres 17, the scan ends at the first entry of another secret. An entry of a workspace that the caller doesn't reach takes a
 * comparison within the index, and its row is not read.
 *
 * An old secret whose overlap has ended is left out before any copy is chosen, so that it hides no other one (docs/decisions/0082). The
 * clock is that of the decisions.
 */
const copiesInPlace = `
  select key.id, key.workspace_id, key.keyspace_id, null::timestamptz as good_until
  from issued_keys key where key.hash = lookup.hash and key.workspace_id = any(place.workspace_ids)
  union all
  select former.key_id, former.workspace_id, former.keyspace_id, former.good_until
  from retired_issued_secrets former
  where former.hash = lookup.hash and former.workspace_id = any(place.workspace_ids)
    and former.good_until > clock_timestamp()`;

/**
 * SQL for whether only one row in all workspaces of the instance has the secret. It needs the `lookup`. Old secrets whose overlap has
 * ended count: they are copies again if the clock is set back, and a copy that another one precedes isn't
 * shared. A copy that is added later usually has a newer ID, but an older one if the clock of its node is behind
 * (docs/decisions/0082).
 */
const isOnlyCopy = `(
  select count(*) = 1 from (
    select from issued_keys where hash = lookup.hash
    union all
    select from retired_issued_secrets where hash = lookup.hash
    limit 2
  ) copy
)`;

/** The most copies that are read per lookup. The oldest of those that the caller may verify decides. */
export const maxCopies = 16;

/** The most copies per lookup for which the policies of their workspaces are read, to find the {@link maxCopies}. */
const maxCandidates = 64;

/** SQL for each setting as a fact of a key. */
const settingFacts: Readonly<Record<IssuedSettingName, string>> = {
  isDisabled:
    "key.disabled_at is not null or copy.keyspace_disabled_at is not null or workspace.disabled_at is not null",
  expiresAt: "extract(epoch from key.expires_at) * 1000",
  name: "key.name",
  meta: "key.meta",
  permissions: "key.permissions",
  limits: "key.limits",
  refill: "key.refill",
  ipRanges: "key.ip_ranges",
};

/** SQL for the facts about a copy. */
const factsOfCopy = `json_build_object(
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
      'isInUse', coalesce((select true from issued_key_uses where key_id = key.id), false),
      'overlapEndsAt', extract(epoch from key.good_until) * 1000,
      'hasCredits', counter.credits is not null,
      'consumer', case when consumer.id is not null then json_build_object(
        'id', consumer.id,
        'externalId', consumer.external_id,
        'version', coalesce((select version from owner_versions where owner_id = consumer.id), 0),
        'limits', consumer.limits
      ) end
    )`;

/** The roles that may verify keys, as an array in SQL. */
const verifyingRoles = `array[${roles
  .filter((role) => roleHasPermission(role, "keys:verify"))
  .map((role) => `'${role}'`)
  .join(", ")}]`;

/**
 * SQL for whether the caller may verify keys in the workspace of a copy, as far as stored data can say. Only the order of the
 * copies depends on it, so that a copy that `decide` would reject anyway displaces none that it would allow.
 */
const mayVerify = `
  member.facts ->> 'role' = any(${verifyingRoles})
  and member.facts ->> 'isBlocked' = 'false' and member.facts ->> 'violation' is null`;

/**
 * Finds the copies that each caller reaches, and the caller's memberships in their workspaces. Reads copies only in the
 * workspaces that the caller reaches, so that neither the result nor the rows that a lookup reads depend on what other workspaces store.
 * One statement reads both, so that a lookup takes as many statements whether or not there is a copy.
 *
 * A key of a deleted keyspace is not found, and takes no place among the {@link maxCopies} that are read. `offset 0` keeps the planner
 * from reading a whole table while it has few rows, because the plan is kept when it has more.
 */
const findCopiesText = `
select caller.version, caller.owner_version, found.copies, found.copies is not null and ${isOnlyCopy} as is_only
from unnest($1::bytea[], $2::bytea[], $3::uuid[], $4::uuid[])
  with ordinality as lookup (hash, caller_hash, workspace_id, keyspace_id, position)
left join lateral (
  select secret.*, counter.version,
    coalesce((select version from owner_versions where owner_id = secret.user_id), 0) as owner_version
  from (${keyWithHash("lookup.caller_hash")}) secret
  join lateral (select version from key_counters where key_id = secret.id offset 0) counter on true
  limit 1
) caller on true
join lateral (
  select json_agg(json_build_array(facts, membership) order by id) as copies from (
    select key.id, copy.membership, ${factsOfCopy} as facts
    from (
      select candidate.*, member.facts as membership
      from (
        select copy.id, copy.good_until, copy.workspace_id, keyspace.disabled_at as keyspace_disabled_at
        from (
          select case when lookup.caller_hash is null then array[lookup.workspace_id] else array(
            select member.workspace_id from members member
            where member.user_id = caller.user_id
              and (lookup.workspace_id is null or member.workspace_id = lookup.workspace_id)
              and (caller.workspace_ids is null or member.workspace_id = any(caller.workspace_ids))
          ) end as workspace_ids
          offset 0
        ) place
        join lateral (${copiesInPlace}) copy on lookup.keyspace_id is null or copy.keyspace_id = lookup.keyspace_id
        join lateral (select disabled_at from keyspaces where id = copy.keyspace_id offset 0) keyspace on true
        left join lateral (
          select role from members where workspace_id = copy.workspace_id and user_id = caller.user_id offset 0
        ) member on true
        order by coalesce(member.role = any(${verifyingRoles}), true) desc, copy.id
        limit ${maxCandidates}
      ) candidate
      left join lateral (
        select ${membershipAsJson("caller")} as facts
        from members member ${policyJoins({ key: "caller", member: "member" })}
        where member.workspace_id = candidate.workspace_id and member.user_id = caller.user_id
        offset 0
      ) member on true
      order by coalesce(${mayVerify}, false) desc, candidate.id
      limit ${maxCopies}
    ) copy
    join lateral (
      select issued.*, copy.good_until from issued_keys issued where issued.id = copy.id offset 0
    ) key on true
    join lateral (
      select version, has_unused_secret, credits from key_counters where key_id = key.id offset 0
    ) counter on true
    join lateral (select disabled_at from workspaces where id = key.workspace_id offset 0) workspace on true
    left join lateral (
      select id, external_id, limits from consumers where id = key.consumer_id offset 0
    ) consumer on true
  ) decided
) found on true
order by lookup.position`;

type StoredCopy = Omit<VerifiableKey, "allowsAddress" | "ipRangeCount" | "idleAt" | "grantedPermissions"> & {
  readonly ipRanges: readonly string[] | null;
};

type FoundRow = readonly [
  version: number | null,
  ownerVersion: number | null,
  copies: readonly (readonly [StoredCopy, Membership | null])[] | null,
  isOnly: boolean | null,
];

/** Finds the copies of each lookup that its caller reaches. */
export async function findCopies(
  client: pg.Client,
  lookups: readonly CopyLookup[],
): Promise<readonly FoundCopies[]> {
  const toBytes = (digest: string) => Buffer.from(digest, "base64");
  const { rows } = await client.query<FoundRow & unknown[]>({
    name: "verify-find-issued-keys",
    text: findCopiesText,
    values: [
      lookups.map(({ digest }) => toBytes(digest)),
      lookups.map(({ callerDigest }) => (callerDigest === undefined ? null : toBytes(callerDigest))),
      lookups.map(({ workspaceId }) => workspaceId ?? null),
      lookups.map(({ keyspaceId }) => keyspaceId ?? null),
    ],
    rowMode: "array",
  });
  const intern = createInterner();
  return rows.map(([version, ownerVersion, copies, isOnly]) => {
    const memberships = new Map(
      (copies ?? []).flatMap(([{ workspaceId }, membership]) =>
        membership ? [[workspaceId, membership] as const] : [],
      ),
    );
    return {
      keys: (copies ?? []).map(([facts]) => toVerifiableKey(facts, intern)),
      isOnly: isOnly ?? false,
      caller: version === null || ownerVersion === null ? undefined : { version, ownerVersion, memberships },
    };
  });
}

function toVerifiableKey(
  { ipRanges, ...facts }: StoredCopy,
  intern: <Text extends string>(text: Text) => Text,
): VerifiableKey {
  return {
    ...facts,
    workspaceId: intern(facts.workspaceId),
    keyspaceId: facts.keyspaceId && intern(facts.keyspaceId),
    owner: { ...facts.owner, id: intern(facts.owner.id) },
    grantedPermissions: compilePermissions(facts.permissions),
    idleAt: null,
    allowsAddress: ipRanges ? createIpMatcher(ipRanges) : undefined,
    ipRangeCount: ipRanges?.length ?? 0,
  };
}

/**
 * Returns a function that returns the first of equal texts. Keys that are found by one statement then share the IDs of their owners,
 * which takes less memory.
 */
function createInterner(): <Text extends string>(text: Text) => Text {
  const interned = new Map<string, string>();
  return <Text extends string>(text: Text): Text => {
    const first = interned.get(text);
    if (first !== undefined) return first as Text; // It is equal to the text.
    interned.set(text, text);
    return text;
  };
}
