import type { KeyId, UserId, WorkspaceId } from "@latchkey/db/ids";
import { settingColumns, settingsAsJson } from "@latchkey/db/key-settings";
import type { Role } from "@latchkey/db/schema";
import { compileRestrictions, isRestricted, type StoredSettings } from "../restrictions.ts";
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
    'isExpired', coalesce(key.expires_at <= clock_timestamp(), false),
    'isRetired', key.good_until is not null,
    'isRotatedOut', coalesce(key.good_until <= clock_timestamp(), false),
    'isUnusedSecret', key.good_until is null and counter.has_unused_secret is true,
    'goodUntil', least(key.expires_at, key.good_until),
    ${settingsAsJson("key")},
    'role', (select role from members where workspace_id = probed.workspace_id and user_id = key.user_id)
  )`;

/** All that admission may see of a key. */
const columns = ["id", "user_id", "deleted_at", ...settingColumns].map((column) => `key.${column}`).join();

/** SQL for the key that a secret `probed` for is of: as its present one, or as a former one, with its `good_until`. */
export const keyOfSecret = `
  select ${columns}, null::timestamptz as good_until from api_keys key where key.hash = probed.hash
  union all
  select ${columns}, former.good_until
  from retired_secrets former
  join api_keys key on key.id = former.key_id
  where former.hash = probed.hash`;

/** What {@link foundFacts} makes. */
export interface FoundFacts extends StoredSettings {
  readonly keyId: KeyId;
  readonly userId: UserId;
  readonly version: number;
  readonly isDeleted: boolean;
  readonly isUserDisabled: boolean;
  readonly isExpired: boolean;
  readonly isRetired: boolean;
  readonly isRotatedOut: boolean;
  readonly isUnusedSecret: boolean;
  /** ISO 8601, to the microsecond. */
  readonly goodUntil: string | null;
  readonly role: Role | null;
}

/** @param workspaceId the workspace probed for. */
export function readFacts(found: FoundFacts, workspaceId: WorkspaceId | undefined): KeyFacts {
  const { keyId, userId, version, isDeleted, isUserDisabled, isDisabled, isExpired } = found;
  const { isRetired, isRotatedOut, isUnusedSecret, goodUntil, limit, role } = found;
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
    isUnusedSecret,
    goodUntil,
    limit,
    restrictions: compileRestrictions(found),
    isRestricted: isRestricted(found),
    roles: new Map(workspaceId && role ? [[workspaceId, role]] : []),
  };
}
