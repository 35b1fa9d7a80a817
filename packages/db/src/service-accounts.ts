import { sql } from "kysely";
import { createId, type UserId } from "./ids.ts";
import { lockCountersOf } from "./key-counters.ts";
import type { Role } from "./role.ts";
import { isAtVersion, type Versions } from "./versions.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** The domain of the placeholders in `users.email`. No email can be sent to it (RFC 2606). */
const placeholderDomain = "service-account.invalid";

/** The role of a service account, which can't own its workspace. */
export type ServiceAccountRole = Exclude<Role, "owner">;

/** Adds a service account to its workspace. It has no sign-in method. */
export async function insertServiceAccount(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  { name, role }: { readonly name: string; readonly role: ServiceAccountRole },
): Promise<UserId> {
  const id = createId("user");
  await trx
    .insertInto("users")
    .values({ id, name, email: `${id}@${placeholderDomain}`, service_workspace_id: workspaceId })
    .execute();
  await trx.insertInto("members").values({ workspace_id: workspaceId, user_id: id, role }).execute();
  return id;
}

/**
 * Changes a service account. Returns false if there is none, or it is at none of `versions`. Call `lockUsers` first and
 * `bumpOwnerVersions` last in the transaction.
 */
export async function updateServiceAccount(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  change: {
    readonly userId: UserId;
    readonly name: string;
    readonly role: ServiceAccountRole;
    readonly isDisabled: boolean;
    readonly versions: Versions;
  },
): Promise<boolean> {
  const { userId, name, role, isDisabled, versions } = change;
  const { numUpdatedRows } = await trx
    .updateTable("members")
    .set((eb) => ({ role, version: eb("version", "+", 1) }))
    .where("workspace_id", "=", workspaceId)
    .where("user_id", "=", userId)
    .where(isAtVersion(versions))
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  await trx
    .updateTable("users")
    .set({
      name,
      disabled_at: isDisabled ? sql`coalesce(disabled_at, clock_timestamp())` : null,
      updated_at: sql`clock_timestamp()`,
    })
    .where("id", "=", userId)
    .where("service_workspace_id", "=", workspaceId)
    .execute();
  return true;
}

/**
 * Disables a service account that is deleted. Its row is kept until its workspace is deleted, because events in the audit log show
 * its name. Call `lockUsers` first.
 */
export async function disableServiceAccount(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  userId: UserId,
): Promise<void> {
  const now = sql<Date>`clock_timestamp()`;
  await trx
    .updateTable("users")
    .set({ disabled_at: sql`coalesce(disabled_at, ${now})`, updated_at: now })
    .where("id", "=", userId)
    .where("service_workspace_id", "=", workspaceId)
    .execute();
}

/** Deletes all service accounts of a deleted workspace with their keys. */
export async function deleteServiceAccounts(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
): Promise<void> {
  const accounts = trx.selectFrom("users").select("id").where("service_workspace_id", "=", workspaceId);
  await trx.deleteFrom("owner_versions").where("owner_id", "in", accounts).execute();
  await lockCountersOf(trx, accounts);
  await trx.deleteFrom("users").where("service_workspace_id", "=", workspaceId).execute();
}
