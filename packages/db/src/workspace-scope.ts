import { sql, type Transaction } from "kysely";
import type { UserId, WorkspaceId } from "./ids.ts";
import type { Database, Db, Trx } from "./schema.ts";

declare const minted: unique symbol;

/**
 * Proof that somebody may act in a workspace. Every query on tenant data takes one, so that code without a check does not
 * compile. docs/tenants.md lists the five functions that create one. It opens a workspace; what may be done there is
 * decided by the code that checked.
 */
export interface WorkspaceScope {
  readonly [minted]: true;
  readonly workspaceId: WorkspaceId;
}

declare const inside: unique symbol;

/** A unit of work that row-level security holds to one workspace. */
export type WorkspaceTrx = Transaction<Database> & { readonly [inside]: "workspace" };

/** A unit of work that sees where one user belongs, and nothing else of any workspace. */
export type UserTrx = Transaction<Database> & { readonly [inside]: "user" };

/** Runs a unit of work in which row-level security shows this workspace and no other. */
export async function inWorkspace<Result>(
  db: Db,
  scope: WorkspaceScope,
  work: (trx: WorkspaceTrx) => Promise<Result>,
): Promise<Result> {
  return await db.transaction().execute(async (trx) => work(await enterWorkspace(trx, scope)));
}

/** Has a transaction see this workspace and no other, until it ends. */
export async function enterWorkspace(trx: Trx, scope: WorkspaceScope): Promise<WorkspaceTrx> {
  await sql`
    select set_config('latchkey.workspace_id', ${scope.workspaceId}, true), set_config('latchkey.user_id', '', true)`.execute(
    trx,
  );
  return trx as WorkspaceTrx; // The setting has made it one.
}

/** Runs a unit of work in which row-level security shows where this user belongs. */
export async function asUser<Result>(
  db: Db,
  userId: UserId,
  work: (trx: UserTrx) => Promise<Result>,
): Promise<Result> {
  return await db.transaction().execute(async (trx) => work(await enterAsUser(trx, userId)));
}

/** Has a transaction see where this user belongs, until it ends. */
export async function enterAsUser(trx: Trx, userId: UserId): Promise<UserTrx> {
  await sql`
    select set_config('latchkey.user_id', ${userId}, true), set_config('latchkey.workspace_id', '', true)`.execute(
    trx,
  );
  return trx as UserTrx; // The setting has made it one.
}
