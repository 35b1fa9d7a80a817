import { hashPassword } from "@latchkey/auth/password";
import type { UserId, WorkspaceId } from "@latchkey/db/ids";
import type { Db, Trx } from "@latchkey/db/schema";
import {
  disableUser,
  enableUser,
  findUserByEmail,
  insertUserWithPassword,
  type User,
} from "@latchkey/db/users";
import { insertWorkspace } from "@latchkey/db/workspaces";
import { AppError } from "@latchkey/errors";
import type { Instance } from "./instance.ts";
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

/**
 * Makes an account for somebody who signs up.
 * @throws {AppError} FORBIDDEN unless the instance is open to everybody; else what {@link createAccount} throws.
 */
export async function registerAccount(
  instance: Pick<Instance, "db" | "registration">,
  account: NewAccount,
): Promise<void> {
  if (instance.registration !== "open") {
    const message = "This instance does not accept sign-ups. Ask its operator for an account.";
    throw new AppError("FORBIDDEN", { message });
  }
  await createAccount(instance.db, account);
}

/**
 * Disables a user: their sessions end, and no node admits a key of theirs once this returns.
 * @param email in lower case.
 * @throws {AppError} NOT_FOUND
 */
export async function disableAccount(db: Db, email: string): Promise<UserId> {
  const { id } = await getAccount(db, email);
  await db.transaction().execute((trx) => disableUser(trx, id));
  return id;
}

/**
 * Enables a user again: their keys are good once this returns, and they may sign in; no earlier session comes back.
 * @param email in lower case.
 * @throws {AppError} NOT_FOUND
 */
export async function enableAccount(db: Db, email: string): Promise<UserId> {
  const { id } = await getAccount(db, email);
  await db.transaction().execute((trx) => enableUser(trx, id));
  return id;
}

/** @param email in lower case. @throws {AppError} NOT_FOUND */
export async function getAccount(db: Db, email: string): Promise<User> {
  const user = await findUserByEmail(db, email);
  if (!user) throw new AppError("NOT_FOUND", { message: `There is no user with the address ${email}.` });
  return user;
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
