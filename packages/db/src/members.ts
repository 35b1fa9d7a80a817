import { type RawBuilder, sql } from "kysely";
import { containsText } from "./contains-text.ts";
import type { UserId } from "./ids.ts";
import { cutPage, type Order, type Page } from "./page.ts";
import type { Role } from "./role.ts";
import type { Trx } from "./schema.ts";
import { hasFactors } from "./second-factors.ts";
import { isPerson, searchableUser, selectEmail, selectUserKind, type UserKind } from "./user-kind.ts";
import { isAtVersion, type Versions } from "./versions.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** A user in a workspace. */
export interface Member {
  readonly userId: UserId;
  readonly kind: UserKind;
  readonly name: string;
  /** Null for a service account. */
  readonly email: string | null;
  readonly role: Role;
  readonly joinedAt: Date;
  readonly isDisabled: boolean;
  /** Incremented with every change to the role, and to a service account. */
  readonly version: number;
}

export const memberOrders = {
  joinedAt: { column: "members.created_at", type: "timestamptz", id: "members.user_id" },
  name: { column: "users.name", type: "text", id: "members.user_id" },
  email: { column: "users.email", type: "text", id: "members.user_id" },
} as const satisfies Record<string, Order>;

export interface MemberFilter {
  readonly role?: Role | undefined;
  readonly kind?: UserKind | undefined;
  /** Part of a name or an email address, in any letter case. */
  readonly search?: string | undefined;
}

/** A page of a workspace's members. */
export async function listMembers(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  {
    sort,
    filter,
    ...page
  }: Page & { readonly sort: keyof typeof memberOrders; readonly filter: MemberFilter },
): Promise<(Member & { position: string })[]> {
  const query = selectMembers(trx, scope).where(matches(filter));
  return await cutPage(query, memberOrders[sort], page).execute();
}

/** People who can sign in and have no second factor: how many there are, and the first of them by name. */
export async function listMembersWithoutFactor(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  limit: number,
): Promise<{ readonly total: number; readonly members: readonly Member[] }> {
  const lacksFactor = sql<boolean>`
    ${isPerson()} and users.disabled_at is null and not ${hasFactors(sql.ref("users.id"))}`;
  const { total } = await trx
    .selectFrom("members")
    .innerJoin("users", "users.id", "members.user_id")
    .select((eb) => eb.fn.countAll<number>().as("total"))
    .where("members.workspace_id", "=", scope.workspaceId)
    .where(lacksFactor)
    .executeTakeFirstOrThrow();
  const members = await selectMembers(trx, scope)
    .where(lacksFactor)
    .orderBy("users.name")
    .orderBy("users.id")
    .limit(limit)
    .execute();
  return { total, members };
}

/** Counts all matching members. */
export async function countMembers(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  filter: MemberFilter,
): Promise<number> {
  const { count } = await trx
    .selectFrom("members")
    .innerJoin("users", "users.id", "members.user_id")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("members.workspace_id", "=", scope.workspaceId)
    .where(matches(filter))
    .executeTakeFirstOrThrow();
  return count;
}

function matches({ role, kind, search = "" }: MemberFilter): RawBuilder<boolean> {
  const conditions = [
    ...(role ? [sql`members.role = ${role}`] : []),
    ...(kind ? [sql`${isPerson()} = ${kind === "person"}`] : []),
    ...(search === "" ? [] : [containsText(searchableUser(), search)]),
  ];
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}

export async function findMember(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  userId: UserId,
): Promise<Member | undefined> {
  return await selectMembers(trx, scope).where("members.user_id", "=", userId).executeTakeFirst();
}

/** Whether a workspace has a member with this email address, which must be in lower case. */
export async function isMember(trx: WorkspaceTrx, scope: WorkspaceScope, email: string): Promise<boolean> {
  const row = await selectMembers(trx, scope)
    .where("users.email", "=", email)
    .where(isPerson())
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Whether a workspace has an owner other than this user who can sign in. If a change depends on the answer, call
 * `lockWorkspace` first.
 */
export async function hasOtherOwner(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  userId: UserId,
): Promise<boolean> {
  const row = await trx
    .selectFrom("members")
    .innerJoin("users", "users.id", "members.user_id")
    .select("members.user_id")
    .where("members.workspace_id", "=", scope.workspaceId)
    .where("members.role", "=", "owner")
    .where("members.user_id", "!=", userId)
    .where("users.disabled_at", "is", null)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Finds the only owner of a workspace who can sign in. Returns undefined if there are several. */
export async function findSoleOwner(trx: WorkspaceTrx, scope: WorkspaceScope): Promise<UserId | undefined> {
  const rows = await trx
    .selectFrom("members")
    .innerJoin("users", "users.id", "members.user_id")
    .select("members.user_id")
    .where("members.workspace_id", "=", scope.workspaceId)
    .where("members.role", "=", "owner")
    .where("users.disabled_at", "is", null)
    .limit(2)
    .execute();
  return rows.length === 1 ? rows[0]?.user_id : undefined;
}

/** Lists the owners of a workspace, including disabled ones. */
export async function listOwnerIds(trx: WorkspaceTrx, scope: WorkspaceScope): Promise<UserId[]> {
  const rows = await trx
    .selectFrom("members")
    .select("user_id")
    .where("workspace_id", "=", scope.workspaceId)
    .where("role", "=", "owner")
    .orderBy("user_id")
    .execute();
  return rows.map(({ user_id }) => user_id);
}

/** Lists the owners and admins of a workspace who are people, owners first. */
export async function listManagerIds(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  limit: number,
): Promise<UserId[]> {
  const rows = await trx
    .selectFrom("members")
    .innerJoin("users", "users.id", "members.user_id")
    .select("members.user_id")
    .where("members.workspace_id", "=", workspaceId)
    .where("members.role", "in", ["owner", "admin"])
    .where(isPerson())
    .orderBy(sql`members.role <> 'owner'`)
    .orderBy("members.user_id")
    .limit(limit)
    .execute();
  return rows.map(({ user_id }) => user_id);
}

/** Whether a workspace has a person other than this user as a member. */
export async function hasOtherMember(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  userId: UserId,
): Promise<boolean> {
  const row = await trx
    .selectFrom("members")
    .innerJoin("users", "users.id", "members.user_id")
    .select("user_id")
    .where("workspace_id", "=", scope.workspaceId)
    .where("user_id", "!=", userId)
    .where(isPerson())
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Adds a member. Returns false if the user is already a member. Call `bumpOwnerVersions` last in the transaction: with the
 * membership, a caller can reach an older key with the same secret.
 */
export async function insertMember(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  member: { readonly userId: UserId; readonly role: Role },
): Promise<boolean> {
  const { numInsertedOrUpdatedRows = 0n } = await trx
    .insertInto("members")
    .values({ workspace_id: scope.workspaceId, user_id: member.userId, role: member.role })
    .onConflict((conflict) => conflict.columns(["workspace_id", "user_id"]).doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows > 0n;
}

/**
 * Changes the role of a member. Returns false if the user is not a member, or the membership is at none of `versions`.
 * Call {@link lockUsers} first and `bumpOwnerVersions` last in the transaction.
 */
export async function updateMemberRole(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  change: { readonly userId: UserId; readonly role: Role; readonly versions?: Versions },
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable("members")
    .set((eb) => ({ role: change.role, version: eb("version", "+", 1) }))
    .where("workspace_id", "=", scope.workspaceId)
    .where("user_id", "=", change.userId)
    .where(isAtVersion(change.versions))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/**
 * Removes a member. Returns false if the user is not a member, or the membership is at none of `versions`. Call
 * {@link lockUsers} first and `bumpOwnerVersions` last in the transaction.
 */
export async function deleteMember(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { userId, versions }: { readonly userId: UserId; readonly versions?: Versions },
): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom("members")
    .where("workspace_id", "=", scope.workspaceId)
    .where("user_id", "=", userId)
    .where(isAtVersion(versions))
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/**
 * Locks users until the transaction ends. Until then, they can't be disabled, and no keys can be created for them. A transaction
 * must lock all its users in one call. Each call locks in the order of the IDs, so that two transactions can't deadlock.
 */
export async function lockUsers(trx: Trx, userIds: readonly UserId[]): Promise<void> {
  if (userIds.length === 0) return;
  await trx
    .selectFrom("users")
    .select("id")
    .where("id", "in", userIds)
    .orderBy("id")
    .forNoKeyUpdate()
    .execute();
}

/** Keeps a user from being deleted until the transaction ends. Doesn't wait for transactions that {@link lockUsers}. */
export async function lockUserAgainstDeletion(trx: Trx, userId: UserId): Promise<void> {
  await trx.selectFrom("users").select("id").where("id", "=", userId).forKeyShare().execute();
}

function selectMembers(trx: WorkspaceTrx, scope: WorkspaceScope) {
  return trx
    .selectFrom("members")
    .innerJoin("users", "users.id", "members.user_id")
    .select([
      "members.user_id as userId",
      selectUserKind().as("kind"),
      "users.name",
      selectEmail().as("email"),
      "members.role",
      "members.created_at as joinedAt",
      "members.version",
      (eb) => eb("users.disabled_at", "is not", null).$castTo<boolean>().as("isDisabled"),
    ])
    .where("members.workspace_id", "=", scope.workspaceId);
}
