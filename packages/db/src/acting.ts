import { sql } from "kysely";
import type { KeyId, UserId } from "./ids.ts";
import { type KeySettings, selectSettings } from "./key-settings.ts";
import type { Db, Trx } from "./schema.ts";
import { enterAsUser, type UserTrx } from "./workspace-scope.ts";
import { findMembership } from "./workspaces.ts";

/** SQL for whether a key in `api_keys` can be used: it is not deleted, disabled or expired. */
const isUsable = sql<boolean>`
  deleted_at is null and disabled_at is null and (expires_at is null or expires_at > clock_timestamp())`;

/**
 * Whether a user can still act, which means that the user is not disabled. Checked again because the request may have
 * been allowed long before its body arrived. Lock the user with `lockUsers` first, so that the answer stays true until
 * the transaction ends.
 */
export async function isUserActing(db: Db, userId: UserId): Promise<boolean> {
  const user = await db
    .selectFrom("users")
    .select("id")
    .where("id", "=", userId)
    .where("disabled_at", "is", null)
    .executeTakeFirst();
  return user !== undefined;
}

/**
 * Whether an operator disabled the workspace of a service account; false for a person. Lock the user with `lockUsers` first:
 * disabling a workspace locks its members.
 */
export async function isServiceWorkspaceDisabled(trx: Trx, userId: UserId): Promise<boolean> {
  const user = await trx
    .selectFrom("users")
    .select("service_workspace_id as workspaceId")
    .where("id", "=", userId)
    .executeTakeFirst();
  const { workspaceId } = user ?? {};
  if (!workspaceId) return false;
  const membership = await readAsUser(trx, userId, (ownTrx) =>
    findMembership(ownTrx, { userId, workspaceId }),
  );
  return membership !== undefined && membership.disabledAt !== null;
}

/**
 * Whether a workspace that a key can reach has blocked another key of the same user. Lock the user with `lockUsers` first, so that the
 * key can't come to reach another workspace until the transaction ends. The lock doesn't prevent a block: one that is committed while
 * the transaction runs can be missed, and the change then counts as made before the block.
 * @param keys.id the key that is to be changed.
 * @param keys.actingId the key that changes it, which is not restricted to workspaces.
 */
export async function hasBlockingWorkspace(
  trx: Trx,
  userId: UserId,
  keys: { readonly id: KeyId; readonly actingId: KeyId },
): Promise<boolean> {
  const { rows } = await readAsUser(trx, userId, (ownTrx) =>
    sql`
      select from members
      join api_keys key on key.user_id = members.user_id
      join workspace_key_access access on access.workspace_id = members.workspace_id
      where members.user_id = ${userId} and key.id = ${keys.id} and key.deleted_at is null
        and (key.workspace_ids is null or members.workspace_id = any(key.workspace_ids))
        and access.key_id = ${keys.actingId} and access.blocked_at is not null
      limit 1`.execute(ownTrx),
  );
  return rows.length > 0;
}

/** Reads what a user may see. The transaction stays limited to what it was limited to. */
async function readAsUser<Result>(
  trx: Trx,
  userId: UserId,
  read: (trx: UserTrx) => Promise<Result>,
): Promise<Result> {
  const { rows } = await sql<{ workspace: string | null; user: string | null }>`
    select current_setting('latchkey.workspace_id', true) as workspace,
      current_setting('latchkey.user_id', true) as user`.execute(trx);
  const result = await read(await enterAsUser(trx, userId));
  await sql`
    select set_config('latchkey.workspace_id', ${rows[0]?.workspace ?? ""}, true),
      set_config('latchkey.user_id', ${rows[0]?.user ?? ""}, true)`.execute(trx);
  return result;
}

/** The key that a request acts with. */
export interface LockedKey {
  readonly settings: KeySettings;
  /** Whether the presented secret is an old secret that is still valid. */
  readonly isByFormerSecret: boolean;
}

/**
 * Locks the key that a request acts with until the transaction ends, and returns its settings. Returns undefined if the
 * key or the presented secret is no longer valid. Lock the user with `lockUsers` first.
 */
export async function lockActingKey(trx: Trx, key: PresentedKey): Promise<LockedKey | undefined> {
  const row = await selectUsableKey(trx, key).forShare().executeTakeFirst();
  if (!row) return undefined;
  const { isByFormerSecret, ...settings } = row;
  return { settings, isByFormerSecret };
}

/** A key, and SHA-256 of the secret that a request presented, in base64. */
interface PresentedKey {
  readonly keyId: KeyId;
  readonly digest: string;
}

/** The settings of the key that a long read acts with; undefined if the key or the secret is no longer valid. */
export async function findActingKey(db: Db, key: PresentedKey): Promise<KeySettings | undefined> {
  const row = await selectUsableKey(db, key).executeTakeFirst();
  if (!row) return undefined;
  const { isByFormerSecret: _isByFormerSecret, ...settings } = row;
  return settings;
}

function selectUsableKey(db: Db, { keyId, digest }: PresentedKey) {
  const hash = Buffer.from(digest, "base64");
  return db
    .selectFrom("api_keys")
    .select([...selectSettings, sql<boolean>`hash <> ${hash}`.as("isByFormerSecret")])
    .where("id", "=", keyId)
    .where(isUsable)
    .where(
      sql<boolean>`(hash = ${hash} or exists (
        select from retired_secrets former
        where former.key_id = api_keys.id and former.hash = ${hash} and good_until > clock_timestamp()))`,
    );
}
