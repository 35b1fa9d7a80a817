import type { KeyId, UserId, WorkspaceId } from "@latchkey/db/ids";
import { idleAt, policyJoins, violatedRule } from "@latchkey/db/key-policy";
import { settingColumns, settingsAsJson } from "@latchkey/db/key-settings";
import { compileRestrictions, isRestricted, type StoredSettings } from "../restrictions.ts";
import type { KeyFacts, Membership } from "./decision.ts";

/**
 * SQL for one JSON object with what decides about a key in a workspace of its user. It needs the `member` and the rows of
 * {@link policyJoins}.
 * @param key the name of a row of {@link keyOfSecret}.
 */
export function membershipAsJson(key: string): string {
  const rows = { key, member: "member", workspace: "workspace", policy: "policy", access: "access" };
  return `json_build_object(
        'role', member.role,
        'isWorkspaceDisabled', workspace.disabled_at is not null,
        'isBlocked', access.blocked_at is not null,
        'violation', ${violatedRule(rows)},
        'idleAt', case when policy.max_idle_days is not null
          then least(${key}.expires_at, ${key}.good_until, ${idleAt(rows)}) end
      )`;
}

/**
 * SQL for one JSON object with everything that decides about a key. It needs `key` from {@link keyOfSecret}, its `counter`,
 * its user's `account` and the workspace of the `lookup`.
 */
export const factsAsJson = `
  json_build_object(
    'keyId', key.id,
    'userId', key.user_id,
    'version', counter.version,
    'ownerVersion', coalesce((select version from owner_versions where owner_id = key.user_id), 0),
    'isDeleted', key.deleted_at is not null,
    'isUserDisabled', account.disabled_at is not null,
    'isServiceWorkspaceDisabled', coalesce(
      (select disabled_at is not null from workspaces where id = account.service_workspace_id), false),
    'isExpired', coalesce(key.expires_at <= clock_timestamp(), false),
    'isFormerSecret', key.good_until is not null,
    'hasOverlapEnded', coalesce(key.good_until <= clock_timestamp(), false),
    'isUnusedSecret', key.good_until is null and counter.has_unused_secret is true,
    'validUntil', least(key.expires_at, key.good_until),
    'expiresAt', key.expires_at,
    'overlapEndsAt', key.good_until,
    ${settingsAsJson("key")},
    'membership', (
      select ${membershipAsJson("key")}
      from members member ${policyJoins({ key: "key", member: "member" })}
      where member.workspace_id = lookup.workspace_id and member.user_id = key.user_id
    )
  )`;

/** The columns of a key that admission may read. */
const columns = ["id", "user_id", "created_at", "deleted_at", ...settingColumns]
  .map((column) => `key.${column}`)
  .join();

/**
 * SQL for the key with the hash of a secret: its current secret, or an old secret with its `good_until`. `offset 0` keeps the
 * planner from reading a whole table while it has few rows, because the plan is kept when it has more.
 */
export function keyWithHash(hash: string): string {
  return `
  select ${columns}, null::timestamptz as good_until from api_keys key where key.hash = ${hash}
  union all
  select ${columns}, former.good_until
  from retired_secrets former
  join lateral (select ${columns} from api_keys key where key.id = former.key_id offset 0) key on true
  where former.hash = ${hash}`;
}

/** SQL for the key of the `lookup`'s secret. */
export const keyOfSecret = keyWithHash("lookup.hash");

/** The JSON object of {@link factsAsJson}. */
export interface StoredFacts extends StoredSettings {
  readonly keyId: KeyId;
  readonly userId: UserId;
  readonly version: number;
  readonly ownerVersion: number;
  readonly isDeleted: boolean;
  readonly isUserDisabled: boolean;
  readonly isServiceWorkspaceDisabled: boolean;
  readonly isExpired: boolean;
  readonly isFormerSecret: boolean;
  readonly hasOverlapEnded: boolean;
  readonly isUnusedSecret: boolean;
  /** ISO 8601, to the microsecond. */
  readonly validUntil: string | null;
  readonly expiresAt: string | null;
  /** `-infinity` for a revoked secret. */
  readonly overlapEndsAt: string | null;
  readonly membership: Membership | null;
}

/** @param workspaceId the workspace whose membership was looked up; undefined for none. */
export function toKeyFacts(found: StoredFacts, workspaceId: WorkspaceId | undefined): KeyFacts {
  const { keyId, userId, version, ownerVersion, isDeleted, isUserDisabled, isDisabled, isExpired } = found;
  const { isFormerSecret, hasOverlapEnded, isUnusedSecret, validUntil, limit, membership } = found;
  const { isServiceWorkspaceDisabled, expiresAt, overlapEndsAt } = found;
  return {
    keyId,
    userId,
    version,
    ownerVersion,
    isDeleted,
    isUserDisabled,
    isServiceWorkspaceDisabled,
    isDisabled,
    isExpired,
    isFormerSecret,
    hasOverlapEnded,
    isUnusedSecret,
    validUntil,
    expiresAt,
    overlapEndsAt,
    limit,
    restrictions: compileRestrictions(found),
    isRestricted: isRestricted(found),
    memberships: new Map(workspaceId && membership ? [[workspaceId, membership]] : []),
  };
}
