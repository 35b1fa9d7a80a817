import { hashPassword } from "@latchkey/auth/password";
import type { UserId, WorkspaceId } from "@latchkey/db/ids";
import type { Db, Trx } from "@latchkey/db/schema";
import { insertUserWithPassword } from "@latchkey/db/users";
import { insertWorkspace } from "@latchkey/db/workspaces";
import { AppError } from "@latchkey/errors";
import { createSlug, randomSlugSuffix } from "./slug.ts";

export interface NewAccount {
  readonly email: string;
  readonly name: string;
  readonly password: string;
  /** What the first workspace is called; without it, after the user. */
  readonly workspaceName?: string | undefined;
}

/**
 * Makes a user with a password and a first workspace that the user owns, in one transaction.
 * @throws {AppError} CONFLICT when the address has an account; SERVICE_UNAVAILABLE when too many sign up at once.
 */
export async function createAccount(
  db: Db,
  account: NewAccount,
): Promise<{ userId: UserId; workspaceId: WorkspaceId }> {
  const passwordHash = await hashPassword(account.password);
  return await db.transaction().execute(async (trx) => {
    const userId = await insertUserWithPassword(trx, {
      email: account.email.toLowerCase(),
      name: account.name,
      passwordHash,
    });
    if (!userId) throw new AppError("CONFLICT", { message: "This email address has an account already." });
    const name = account.workspaceName ?? `${account.name}’s workspace`;
    return { userId, workspaceId: await createWorkspace(trx, { name, ownerId: userId }) };
  });
}

const slugAttempts = 5;

async function createWorkspace(
  trx: Trx,
  workspace: { readonly name: string; readonly ownerId: UserId },
): Promise<WorkspaceId> {
  let slug = createSlug(workspace.name);
  for (let attempt = 1; attempt <= slugAttempts; attempt += 1) {
    const id = await insertWorkspace(trx, { ...workspace, slug });
    if (id) return id;
    slug = createSlug(workspace.name, randomSlugSuffix());
  }
  throw new AppError("CONFLICT", { message: "No free address was found for this workspace's name." });
}
