import type { KeyId, UserId, WorkspaceId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/schema";
import { createIpMatcher } from "../ip-ranges.ts";
import { readNarrowing } from "../narrowing.ts";
import type { KeyFacts } from "./judge.ts";

/**
 * SQL that makes one JSON of all that decides about a key: of `key`, its `counter`, its user's `account`, the `secret`
 * presented and the workspace `probed` for.
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
    'isRetired', secret.good_until is not null,
    'isRotatedOut', coalesce(secret.good_until <= clock_timestamp(), false),
    'expires', key.expires_at is not null,
    'goodUntil', least(key.expires_at, secret.good_until),
    'quota', key.limit_quota,
    'windowSeconds', key.limit_window_seconds,
    'workspaceIds', key.workspace_ids,
    'permissions', key.permissions,
    'isReadOnly', key.is_read_only,
    'ipRanges', key.ip_ranges,
    'role', (select role from members where workspace_id = probed.workspace_id and user_id = key.user_id)
  )`;

/** SQL for the keys that a secret `probed` for is of: as its present one, or as a former one with its end. */
export const secretsOf = `
  select id, null::timestamptz as good_until from api_keys where hash = probed.hash
  union all
  select key_id, good_until from retired_secrets where hash = probed.hash`;

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
