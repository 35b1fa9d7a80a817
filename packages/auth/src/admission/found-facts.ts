import type { KeyId, UserId, WorkspaceId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/schema";
import { createIpMatcher } from "../ip-ranges.ts";
import { readNarrowing } from "../narrowing.ts";
import type { KeyFacts } from "./judge.ts";

/**
 * SQL that makes one JSON of all that decides about a key: of `key`, as {@link keyOfSecret} has it, its `counter`, its
 * user's `account` and the workspace `probed` for.
 */
export const foundFacts = `
  json_build_object(
    'keyId', key.id,
    'userId', key.user_id,
    'version', counter.version,
    'isDeleted', key.deleted_at is not null,
    'isUserDisabled', account.disabled_at is not null,
    'isDisabled', key.disabled_at is not null,
    'isExpired', coalesce(key.expires_at <= clock_timestamp(), false),
    'isRetired', key.good_until is not null,
    'isRotatedOut', coalesce(key.good_until <= clock_timestamp(), false),
    'expires', key.expires_at is not null,
    'goodUntil', least(key.expires_at, key.good_until),
    'quota', key.limit_quota,
    'windowSeconds', key.limit_window_seconds,
    'workspaceIds', key.workspace_ids,
    'permissions', key.permissions,
    'isReadOnly', key.is_read_only,
    'ipRanges', key.ip_ranges,
    'role', (select role from members where workspace_id = probed.workspace_id and user_id = key.user_id)
  )`;

/** All that admission may see of a key. */
const columns = [
  "id",
  "user_id",
  "deleted_at",
  "disabled_at",
  "expires_at",
  "workspace_ids",
  "permissions",
  "is_read_only",
  "ip_ranges",
  "limit_quota",
  "limit_window_seconds",
]
  .map((column) => `key.${column}`)
  .join();

/** SQL for the key that a secret `probed` for is of: as its present one, or as a former one, with its `good_until`. */
export const keyOfSecret = `
  select ${columns}, null::timestamptz as good_until from api_keys key where key.hash = probed.hash
  union all
  select ${columns}, former.good_until
  from retired_secrets former
  join api_keys key on key.id = former.key_id
  where former.hash = probed.hash`;

/** What {@link foundFacts} makes. */
export interface FoundFacts {
  readonly keyId: KeyId;
  readonly userId: UserId;
  readonly version: number;
  readonly isDeleted: boolean;
  readonly isUserDisabled: boolean;
  readonly isDisabled: boolean;
  readonly isExpired: boolean;
  readonly isRetired: boolean;
  readonly isRotatedOut: boolean;
  readonly expires: boolean;
  /** ISO 8601, to the microsecond. */
  readonly goodUntil: string | null;
  readonly quota: number | null;
  readonly windowSeconds: number | null;
  readonly workspaceIds: readonly WorkspaceId[] | null;
  readonly permissions: readonly string[] | null;
  readonly isReadOnly: boolean;
  readonly ipRanges: readonly string[] | null;
  readonly role: Role | null;
}

/** @param workspaceId the workspace probed for. */
export function readFacts(found: FoundFacts, workspaceId: WorkspaceId | undefined): KeyFacts {
  const { expires, quota, windowSeconds, ipRanges, role, ...facts } = found;
  const {
    keyId,
    userId,
    version,
    isDeleted,
    isUserDisabled,
    isDisabled,
    isExpired,
    isRetired,
    isRotatedOut,
  } = facts;
  const limit = quota !== null && windowSeconds !== null ? { quota, windowSeconds } : null;
  const narrowing = readNarrowing(facts);
  return {
    keyId,
    userId,
    version,
    isDeleted,
    isUserDisabled,
    isDisabled,
    isExpired,
    isRetired,
    isRotatedOut,
    goodUntil: facts.goodUntil,
    limit,
    narrowing,
    isBound: expires || limit !== null || narrowing !== undefined || ipRanges !== null,
    isWithinRanges: ipRanges ? createIpMatcher(ipRanges) : undefined,
    roles: new Map(workspaceId && role ? [[workspaceId, role]] : []),
  };
}
