import { type RawBuilder, sql } from "kysely";
import { containsText } from "./contains-text.ts";
import { deleteInvitationNotice } from "./delete-notices.ts";
import { createId, type InvitationId, type UserId } from "./ids.ts";
import { cutPage, type Order, type Page } from "./page.ts";
import type { Role } from "./role.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** An invitation that nobody has accepted yet. */
export interface Invitation {
  readonly id: InvitationId;
  /** In lower case. */
  readonly email: string;
  readonly role: Role;
  /** Whether the link was emailed. If so, anyone who has the link can read mail to that address. */
  readonly isEmailed: boolean;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** By the database's clock. */
  readonly isExpired: boolean;
  /** Null for the `latchkey` command. */
  readonly inviter: Inviter | null;
}

export interface Inviter {
  readonly userId: UserId;
  readonly name: string;
  readonly isDisabled: boolean;
  /** The current role in the workspace; null if the inviter is no longer a member. */
  readonly role: Role | null;
}

interface NewInvitation {
  readonly email: string;
  readonly role: Role;
  readonly invitedBy: UserId | null;
  /** Whether the link is emailed, rather than shown to the inviter. */
  readonly isEmailed: boolean;
  readonly lifetimeSeconds: number;
}

/** How long an expired invitation stays in the list, in days. */
const keepExpiredDays = 30;

/**
 * Adds an invitation. Returns undefined if the workspace has one for this email address, even an expired one.
 * @param invitation.email in lower case.
 */
export async function insertInvitation(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { email, role, invitedBy, isEmailed, lifetimeSeconds }: NewInvitation,
): Promise<InvitationId | undefined> {
  const row = await trx
    .insertInto("invitations")
    .values({
      workspace_id: scope.workspaceId,
      id: createId("invitation"),
      email,
      role,
      invited_by: invitedBy,
      is_emailed: isEmailed,
      expires_at: expireAfter(lifetimeSeconds),
    })
    .onConflict((conflict) => conflict.columns(["workspace_id", "email"]).doNothing())
    .returning("id")
    .executeTakeFirst();
  return row?.id;
}

/** Makes an invitation valid again for its whole lifetime, in the name of the user who sends it again. */
export async function renewInvitation(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: InvitationId,
  { invitedBy, isEmailed, lifetimeSeconds }: Omit<NewInvitation, "email" | "role">,
): Promise<void> {
  await trx
    .updateTable("invitations")
    .set({ invited_by: invitedBy, is_emailed: isEmailed, expires_at: expireAfter(lifetimeSeconds) })
    .where("workspace_id", "=", scope.workspaceId)
    .where("id", "=", id)
    .execute();
}

/** Lists the invitations that a user has sent, oldest first. */
export async function listInvitationsBy(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  userId: UserId,
): Promise<Invitation[]> {
  const rows = await selectInvitations(trx, scope)
    .where("invitations.invited_by", "=", userId)
    .orderBy("invitations.id")
    .execute();
  return rows.map(toInvitation);
}

/** Deletes an invitation and its notice, if they exist. */
export async function deleteInvitation(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  invitation: { readonly id: InvitationId } | { readonly email: string },
): Promise<void> {
  const query = trx.deleteFrom("invitations").where("workspace_id", "=", scope.workspaceId);
  const deleted = await ("id" in invitation
    ? query.where("id", "=", invitation.id)
    : query.where("email", "=", invitation.email)
  )
    .returning(["id", "email"])
    .executeTakeFirst();
  if (deleted) await deleteInvitationNotice(trx, deleted);
}

/**
 * Deletes the invitations of a workspace that expired a month ago. The purger can't see them, because it enters no
 * workspace.
 */
export async function deleteOldInvitations(trx: WorkspaceTrx, scope: WorkspaceScope): Promise<void> {
  await trx
    .deleteFrom("invitations")
    .where("workspace_id", "=", scope.workspaceId)
    .where(sql<boolean>`expires_at <= clock_timestamp() - make_interval(days => ${keepExpiredDays})`)
    .execute();
}

export const invitationOrders = {
  createdAt: { column: "invitations.created_at", type: "timestamptz", id: "invitations.id" },
  email: { column: "invitations.email", type: "text", id: "invitations.id" },
} as const satisfies Record<string, Order>;

/**
 * The statuses of an invitation. `invalid`: the user who sent it is disabled, is no longer a member, or can no longer
 * invite people with its role. Another user can send it again.
 */
export const invitationStatuses = ["pending", "expired", "invalid"] as const;
export type InvitationStatus = (typeof invitationStatuses)[number];

/** A status to filter by, with the rule on which it depends. */
export interface StatusFilter {
  readonly status: InvitationStatus;
  /** Every pair of a member's role and a role with which this member can invite people. */
  readonly grants: readonly { readonly inviter: Role; readonly invited: Role }[];
}

export interface InvitationFilter {
  /** The user who sent the invitation last; all invitations if it is undefined. */
  readonly invitedBy?: UserId | undefined;
  /** A part of the email address, in any letter case. */
  readonly search?: string | undefined;
  readonly status?: StatusFilter | undefined;
}

/** Returns a page of a workspace's invitations. */
export async function listInvitations(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  {
    sort,
    filter = {},
    ...page
  }: Page & { readonly sort: keyof typeof invitationOrders; readonly filter?: InvitationFilter },
): Promise<(Invitation & { position: string })[]> {
  const query = selectInvitations(trx, scope).where(matches(filter));
  const rows = await cutPage(query, invitationOrders[sort], page).execute();
  return rows.map(({ position, ...row }) => ({ ...toInvitation(row), position }));
}

/** Counts all matching invitations. */
export async function countInvitations(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  filter: InvitationFilter = {},
): Promise<number> {
  const { count } = await fromInvitations(trx, scope)
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where(matches(filter))
    .executeTakeFirstOrThrow();
  return count;
}

function matches({ invitedBy, search = "", status }: InvitationFilter): RawBuilder<boolean> {
  const conditions = [
    ...(invitedBy === undefined ? [] : [sql`invitations.invited_by = ${invitedBy}`]),
    ...(search === "" ? [] : [containsText(sql`invitations.email`, search)]),
    ...(status ? [hasStatus(status)] : []),
  ];
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}

/** SQL for whether an invitation has expired, at one instant for all rows and conditions of a statement. */
const isExpired = sql<boolean>`invitations.expires_at <= statement_timestamp()`;

function hasStatus({ status, grants }: StatusFilter): RawBuilder<boolean> {
  if (status === "expired") return isExpired;
  const inviters = grants.map(({ inviter }) => inviter);
  const invited = grants.map((grant) => grant.invited);
  // The `latchkey` command, which is no user, can grant every role. A former member has no role.
  const isValid = sql<boolean>`(users.id is null or coalesce(users.disabled_at is null
    and (members.role, invitations.role) in (select * from unnest(${inviters}::text[], ${invited}::text[])), false))`;
  return sql<boolean>`(not (${isExpired}) and ${isValid} = ${status === "pending"})`;
}

export async function findInvitation(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  invitation: { readonly id: InvitationId } | { readonly email: string },
): Promise<Invitation | undefined> {
  const query = selectInvitations(trx, scope);
  const row = await ("id" in invitation
    ? query.where("invitations.id", "=", invitation.id)
    : query.where("invitations.email", "=", invitation.email)
  ).executeTakeFirst();
  return row && toInvitation(row);
}

function expireAfter(lifetimeSeconds: number) {
  return sql<Date>`clock_timestamp() + make_interval(secs => ${lifetimeSeconds})`;
}

/** The invitations of a workspace, each with the user who sent it and this user's membership, if there are any. */
function fromInvitations(trx: WorkspaceTrx, scope: WorkspaceScope) {
  return trx
    .selectFrom("invitations")
    .leftJoin("users", "users.id", "invitations.invited_by")
    .leftJoin("members", (join) =>
      join
        .onRef("members.workspace_id", "=", "invitations.workspace_id")
        .onRef("members.user_id", "=", "invitations.invited_by"),
    )
    .where("invitations.workspace_id", "=", scope.workspaceId);
}

function selectInvitations(trx: WorkspaceTrx, scope: WorkspaceScope) {
  return fromInvitations(trx, scope).select([
    "invitations.id",
    "invitations.email",
    "invitations.role",
    "invitations.is_emailed as isEmailed",
    "invitations.created_at as createdAt",
    "invitations.expires_at as expiresAt",
    isExpired.as("isExpired"),
    "users.id as inviterId",
    "users.name as inviterName",
    (eb) => eb("users.disabled_at", "is not", null).$castTo<boolean>().as("isInviterDisabled"),
    "members.role as inviterRole",
  ]);
}

function toInvitation({
  inviterId,
  inviterName,
  isInviterDisabled,
  inviterRole,
  ...invitation
}: Omit<Invitation, "inviter"> & {
  readonly inviterId: UserId | null;
  readonly inviterName: string | null;
  readonly isInviterDisabled: boolean;
  readonly inviterRole: Role | null;
}): Invitation {
  const inviter =
    inviterId === null
      ? null
      : { userId: inviterId, name: inviterName ?? "", isDisabled: isInviterDisabled, role: inviterRole };
  return { ...invitation, inviter };
}
