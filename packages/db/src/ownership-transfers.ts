import { sql } from "kysely";
import type { UserId } from "./ids.ts";
import type { Role } from "./role.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** One of the two users of an ownership transfer, as they are now. */
export interface TransferParty {
  readonly userId: UserId;
  readonly name: string;
  readonly role: Role;
  readonly isDisabled: boolean;
}

/** An owner's offer to transfer ownership of the workspace to another member. */
export interface OwnershipTransfer {
  readonly from: TransferParty;
  readonly to: TransferParty;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  /** By the database's clock. */
  readonly isExpired: boolean;
}

/** Adds an offer. Returns false if the workspace has one, even an expired one. Both users must be members. */
export async function insertOwnershipTransfer(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  transfer: { readonly from: UserId; readonly to: UserId; readonly lifetimeSeconds: number },
): Promise<boolean> {
  const { numInsertedOrUpdatedRows = 0n } = await trx
    .insertInto("ownership_transfers")
    .values({
      workspace_id: scope.workspaceId,
      from_user_id: transfer.from,
      to_user_id: transfer.to,
      expires_at: sql<Date>`clock_timestamp() + make_interval(secs => ${transfer.lifetimeSeconds})`,
    })
    .onConflict((conflict) => conflict.column("workspace_id").doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows > 0n;
}

/** Finds the offer of a workspace, even an expired one. */
export async function findOwnershipTransfer(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
): Promise<OwnershipTransfer | undefined> {
  const row = await trx
    .selectFrom("ownership_transfers as transfer")
    .innerJoin("users as giver", "giver.id", "transfer.from_user_id")
    .innerJoin("users as receiver", "receiver.id", "transfer.to_user_id")
    .innerJoin("members as giving", (join) =>
      join
        .onRef("giving.workspace_id", "=", "transfer.workspace_id")
        .onRef("giving.user_id", "=", "transfer.from_user_id"),
    )
    .innerJoin("members as receiving", (join) =>
      join
        .onRef("receiving.workspace_id", "=", "transfer.workspace_id")
        .onRef("receiving.user_id", "=", "transfer.to_user_id"),
    )
    .select([
      "transfer.from_user_id as fromId",
      "giver.name as fromName",
      "giving.role as fromRole",
      sql<boolean>`giver.disabled_at is not null`.as("isFromDisabled"),
      "transfer.to_user_id as toId",
      "receiver.name as toName",
      "receiving.role as toRole",
      sql<boolean>`receiver.disabled_at is not null`.as("isToDisabled"),
      "transfer.created_at as createdAt",
      "transfer.expires_at as expiresAt",
      sql<boolean>`transfer.expires_at <= clock_timestamp()`.as("isExpired"),
    ])
    .where("transfer.workspace_id", "=", scope.workspaceId)
    .executeTakeFirst();
  if (!row) return undefined;
  const { createdAt, expiresAt, isExpired } = row;
  return {
    from: { userId: row.fromId, name: row.fromName, role: row.fromRole, isDisabled: row.isFromDisabled },
    to: { userId: row.toId, name: row.toName, role: row.toRole, isDisabled: row.isToDisabled },
    createdAt,
    expiresAt,
    isExpired,
  };
}

/** Deletes the offer of a workspace. */
export async function deleteOwnershipTransfer(trx: WorkspaceTrx, scope: WorkspaceScope): Promise<void> {
  await trx.deleteFrom("ownership_transfers").where("workspace_id", "=", scope.workspaceId).execute();
}

/** Deletes the offer of a workspace if one of these users made it or could accept it. */
export async function deleteOwnershipTransferOf(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  userIds: readonly UserId[],
): Promise<void> {
  await trx
    .deleteFrom("ownership_transfers")
    .where("workspace_id", "=", scope.workspaceId)
    .where((eb) => eb.or([eb("from_user_id", "in", userIds), eb("to_user_id", "in", userIds)]))
    .execute();
}
