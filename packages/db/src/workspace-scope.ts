import { sql, type Transaction } from "kysely";
import type { UserId, WorkspaceId } from "./ids.ts";
import type { Database, Db, Trx } from "./schema.ts";

declare const minted: unique symbol;

/**
 * Proof that a user may act in a workspace. Every query on tenant data takes one, so that code without a check does not
 * compile. docs/tenants.md lists the functions that create one. It does not prove a particular permission: the
 * code that made the check decides what may be done in the workspace.
 */
export interface WorkspaceScope {
  readonly [minted]: true;
  readonly workspaceId: WorkspaceId;
}

declare const visibility: unique symbol;

/** A transaction that row-level security limits to one workspace. */
export type WorkspaceTrx = Transaction<Database> & { readonly [visibility]: "workspace" };

/** A transaction that sees only the memberships, workspaces and key history of one user. */
export type UserTrx = Transaction<Database> & { readonly [visibility]: "user" };

/** Runs `work` in a transaction that sees only this workspace. */
export async function inWorkspace<Result>(
  db: Db,
  scope: WorkspaceScope,
  work: (trx: WorkspaceTrx) => Promise<Result>,
): Promise<Result> {
  return await db.transaction().execute(async (trx) => work(await enterWorkspace(trx, scope)));
}

/** Limits a transaction to this workspace until it ends. */
export async function enterWorkspace(trx: Trx, scope: WorkspaceScope): Promise<WorkspaceTrx> {
  await sql`
    select set_config('latchkey.workspace_id', ${scope.workspaceId}, true), set_config('latchkey.user_id', '', true)`.execute(
    trx,
  );
  return trx as WorkspaceTrx; // The settings above limit it.
}

/** Runs `work` in a transaction that sees only the memberships, workspaces and key history of this user. */
export async function asUser<Result>(
  db: Db,
  userId: UserId,
  work: (trx: UserTrx) => Promise<Result>,
): Promise<Result> {
  return await db.transaction().execute(async (trx) => work(await enterAsUser(trx, userId)));
}

/** Limits a transaction to the memberships, workspaces and key history of this user until it ends. */
export async function enterAsUser(trx: Trx, userId: UserId): Promise<UserTrx> {
  await sql`
    select set_config('latchkey.user_id', ${userId}, true), set_config('latchkey.workspace_id', '', true)`.execute(
    trx,
  );
  return trx as UserTrx; // The settings above limit it.
}
