import { sql } from "kysely";
import { isRejectedByWorkspace } from "./api-key-policies.ts";
import { containsText } from "./contains-text.ts";
import { createId, type KeyId, type UserId, type WorkspaceId } from "./ids.ts";
import { mintWorkspaceScope } from "./mint-workspace-scope.ts";
import { bumpOwnerVersions } from "./owner-versions.ts";
import { cutPage, type Order, type Page } from "./page.ts";
import type { Role } from "./role.ts";
import type { Trx } from "./schema.ts";
import { deleteServiceAccounts } from "./service-accounts.ts";
import { isAtVersion, type Versions } from "./versions.ts";
import type { NewWorkspaceFields, WorkspaceFieldChanges, WorkspaceFields } from "./workspace-fields.ts";
import { enterWorkspace, type UserTrx, type WorkspaceScope, type WorkspaceTrx } from "./workspace-scope.ts";

export interface Workspace extends WorkspaceFields {
  readonly id: WorkspaceId;
  readonly slug: string;
  readonly createdAt: Date;
  /** When an operator disabled the workspace; null for a workspace that is enabled. */
  readonly disabledAt: Date | null;
  /** Incremented with every change to the settings. */
  readonly version: number;
}

/** A workspace as one of its members sees it. */
export interface Membership extends Workspace {
  readonly role: Role;
}

/**
 * Adds a workspace with its first owner. Returns undefined if the slug is taken. The creator may act in the workspace,
 * so this returns its scope, and the transaction, which is now limited to that workspace.
 */
export async function insertWorkspace(
  trx: Trx,
  { slug, ownerId, ...fields }: NewWorkspaceFields & { readonly slug: string; readonly ownerId: UserId },
): Promise<{ readonly scope: WorkspaceScope; readonly workspaceTrx: WorkspaceTrx } | undefined> {
  const scope = mintWorkspaceScope(createId("workspace"));
  const workspaceTrx = await enterWorkspace(trx, scope);
  const row = await workspaceTrx
    .insertInto("workspaces")
    .values({ ...toColumns(fields), name: fields.name, id: scope.workspaceId, slug })
    .onConflict((conflict) => conflict.column("slug").doNothing())
    .returning("id")
    .executeTakeFirst();
  if (!row) return undefined;
  await workspaceTrx
    .insertInto("members")
    .values({ workspace_id: row.id, user_id: ownerId, role: "owner" })
    .execute();
  return { scope, workspaceTrx };
}

const columns = [
  "workspaces.id",
  "workspaces.name",
  "workspaces.description",
  "workspaces.slug",
  "workspaces.created_at as createdAt",
  "workspaces.disabled_at as disabledAt",
  "workspaces.version",
  "workspaces.requires_second_factor as requiresSecondFactor",
  "workspaces.audit_retention_days as auditRetentionDays",
] as const;

/** The columns of the fields that are present. */
function toColumns({ requiresSecondFactor, auditRetentionDays, ...fields }: WorkspaceFieldChanges) {
  return {
    ...fields,
    ...(requiresSecondFactor !== undefined && { requires_second_factor: requiresSecondFactor }),
    ...(auditRetentionDays !== undefined && { audit_retention_days: auditRetentionDays }),
  };
}

export async function findWorkspace(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
): Promise<Workspace | undefined> {
  return await trx
    .selectFrom("workspaces")
    .select(columns)
    .where("id", "=", scope.workspaceId)
    .executeTakeFirst();
}

export const membershipOrders = {
  createdAt: { column: "workspaces.created_at", type: "timestamptz", id: "workspaces.id" },
  name: { column: "workspaces.name", type: "text", id: "workspaces.id" },
} as const satisfies Record<string, Order>;

export interface MembershipFilter {
  readonly role?: Role | undefined;
  /** Part of a name, in any letter case. */
  readonly search?: string | undefined;
  /** Only these workspaces. */
  readonly workspaceIds?: ReadonlySet<WorkspaceId> | undefined;
  /** Only workspaces that don't reject this key of the user, by a block or by their policy. */
  readonly acceptingKey?: KeyId | undefined;
}

/** Returns a page of the workspaces that a user is a member of. */
export async function listMemberships(
  trx: UserTrx,
  userId: UserId,
  {
    sort = "createdAt",
    filter = {},
    ...page
  }: Page & { readonly sort?: keyof typeof membershipOrders; readonly filter?: MembershipFilter },
): Promise<(Membership & { position: string })[]> {
  const { role, search, workspaceIds, acceptingKey } = filter;
  const query = trx
    .selectFrom("members")
    .innerJoin("workspaces", "workspaces.id", "members.workspace_id")
    .select([...columns, "members.role"])
    .where("members.user_id", "=", userId)
    .$if(workspaceIds !== undefined, (memberships) =>
      memberships.where(
        sql<boolean>`workspaces.id = any(${[...(workspaceIds as ReadonlySet<WorkspaceId>)]}::uuid[])`,
      ),
    ) // Checked by $if.
    .$if(acceptingKey !== undefined, (memberships) =>
      memberships.where(sql<boolean>`not ${isRejectedByWorkspace(acceptingKey as KeyId)}`),
    ) // Checked by $if.
    .$if(role !== undefined, (memberships) => memberships.where("members.role", "=", role as Role)) // Checked by $if.
    .$if(search !== undefined, (memberships) =>
      memberships.where(containsText(sql.ref("workspaces.name"), search as string)),
    ); // Checked by $if.
  return await cutPage(query, membershipOrders[sort], page).execute();
}

/** Lists which of these workspaces, or of all (null), a user is a member of, ordered by ID. */
export async function listOwnWorkspaceIds(
  trx: UserTrx,
  userId: UserId,
  workspaceIds: readonly WorkspaceId[] | null,
): Promise<WorkspaceId[]> {
  const query = trx.selectFrom("members").select("workspace_id").where("user_id", "=", userId);
  const rows = await (workspaceIds ? query.where("workspace_id", "in", workspaceIds) : query)
    .orderBy("workspace_id")
    .execute();
  return rows.map(({ workspace_id }) => workspace_id);
}

/**
 * Finds the role of a user in a workspace. Returns undefined if the user is not a member, or the workspace does not
 * exist.
 */
export async function findRole(
  trx: UserTrx | WorkspaceTrx,
  membership: { readonly userId: UserId; readonly workspaceId: WorkspaceId },
): Promise<Role | undefined> {
  const row = await trx
    .selectFrom("members")
    .select("role")
    .where("workspace_id", "=", membership.workspaceId)
    .where("user_id", "=", membership.userId)
    .executeTakeFirst();
  return row?.role;
}

/** Finds the role of a user in a workspace, and what decides whether its members can use it; as {@link findRole}. */
export async function findMembership(
  trx: UserTrx | WorkspaceTrx,
  membership: { readonly userId: UserId; readonly workspaceId: WorkspaceId },
): Promise<
  | { readonly role: Role; readonly requiresSecondFactor: boolean; readonly disabledAt: Date | null }
  | undefined
> {
  return await trx
    .selectFrom("members")
    .innerJoin("workspaces", "workspaces.id", "members.workspace_id")
    .select([
      "members.role",
      "workspaces.requires_second_factor as requiresSecondFactor",
      "workspaces.disabled_at as disabledAt",
    ])
    .where("members.workspace_id", "=", membership.workspaceId)
    .where("members.user_id", "=", membership.userId)
    .executeTakeFirst();
}

/**
 * Changes fields of a workspace. Returns undefined if the workspace does not exist or is at none of `versions`.
 */
export async function updateWorkspace(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { fields, versions }: { readonly fields: WorkspaceFieldChanges; readonly versions: Versions },
): Promise<Workspace | undefined> {
  return await trx
    .updateTable("workspaces")
    .set((eb) => ({
      ...toColumns(fields),
      version: eb("version", "+", 1),
      updated_at: sql`clock_timestamp()`,
    }))
    .where("id", "=", scope.workspaceId)
    .where(isAtVersion(versions))
    .returning(columns)
    .executeTakeFirst();
}

/**
 * Disables a workspace, or enables it again. Lock it with `lockWorkspace` first, and call `bumpOwnerVersions` last in
 * the transaction, with the workspace, for its issued keys, and with its members, for their API keys.
 * @returns false if there was nothing to change.
 */
export async function setWorkspaceDisabled(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  isDisabled: boolean,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("workspaces")
    .set({ disabled_at: isDisabled ? sql<Date>`clock_timestamp()` : null })
    .where("id", "=", scope.workspaceId)
    .where("disabled_at", isDisabled ? "is" : "is not", null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Lists all members of a workspace. */
export async function listMemberIds(trx: WorkspaceTrx, scope: WorkspaceScope): Promise<UserId[]> {
  const rows = await trx
    .selectFrom("members")
    .select("user_id")
    .where("workspace_id", "=", scope.workspaceId)
    .execute();
  return rows.map(({ user_id }) => user_id);
}

/**
 * Deletes a workspace with everything in it. Returns false if it does not exist, or is at none of `versions`. Call it
 * last in the transaction. After the commit, every node rejects requests with keys in this workspace. Triggers record the
 * deletion of the workspace and of its keyspaces and webhooks, and the purge deletes the rows of which there can be millions.
 * @param deletion.memberIds all members, locked with `lockUsers`: their versions as owners are incremented, so that no node uses
 *   what it remembers about their roles in the workspace.
 */
export async function deleteWorkspace(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  deletion: { readonly memberIds: readonly UserId[]; readonly versions?: Versions },
): Promise<boolean> {
  const isFound = await trx
    .selectFrom("workspaces")
    .select("id")
    .where("id", "=", scope.workspaceId)
    .where(isAtVersion(deletion.versions))
    .forUpdate()
    .executeTakeFirst();
  if (!isFound) return false;
  // Before the workspace, because Postgres runs `on delete cascade` and its triggers as the owner of the table, whom forced
  // row-level security keeps from recording the deleted keyspaces and webhooks. The lock above keeps others from adding one.
  await trx.deleteFrom("keyspaces").where("workspace_id", "=", scope.workspaceId).execute();
  await trx.deleteFrom("webhooks").where("workspace_id", "=", scope.workspaceId).execute();
  await trx.deleteFrom("workspaces").where("id", "=", scope.workspaceId).execute();
  // The versions of the deleted keyspaces already invalidate all facts about the workspace's issued keys.
  await trx.deleteFrom("owner_versions").where("owner_id", "=", scope.workspaceId).execute();
  await bumpOwnerVersions(trx, deletion.memberIds);
  await deleteServiceAccounts(trx, scope);
  return true;
}
