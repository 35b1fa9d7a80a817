import { findPasswordFault, type PasswordOwner } from "@latchkey/auth/password-rules";
import { openAsOperator } from "@latchkey/auth/workspace-access";
import type { Origin } from "@latchkey/db/audit-actions";
import { encodeId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { hasOtherMember, hasOtherOwner, listOwnedWorkspaces, lockUsers } from "@latchkey/db/members";
import type { Db, Trx } from "@latchkey/db/schema";
import {
  disableUser,
  enableUser,
  findUser,
  findUserByEmail,
  insertUserWithPassword,
  listUsers,
  type User,
} from "@latchkey/db/users";
import { enterAsUser, enterWorkspace } from "@latchkey/db/workspace-scope";
import { lockWorkspace } from "@latchkey/db/workspaces";
import { AppError } from "@latchkey/errors";
import { defaultQuotas } from "./quotas.ts";
import { createWorkspace } from "./workspaces.ts";

export interface NewAccount {
  readonly email: string;
  readonly name: string;
  /** From `hashPassword`. */
  readonly passwordHash: string;
  /** What the first workspace is called; without it, after the user. */
  readonly workspaceName?: string | undefined;
}

/** Who makes an account, from where: somebody for themselves, or the operator's command. */
export interface NewAccountOrigin extends Omit<Origin, "actor"> {
  readonly kind: "session" | "command";
}

/**
 * Makes a user with a password and a first workspace that the user owns, in one transaction.
 * @throws {AppError} CONFLICT when the address has an account.
 */
export async function createAccount(
  db: Db,
  account: NewAccount,
  from: NewAccountOrigin,
): Promise<{ userId: UserId; workspaceId: WorkspaceId }> {
  return await db.transaction().execute(async (trx) => {
    const userId = await insertUserWithPassword(trx, {
      email: account.email.toLowerCase(),
      name: account.name,
      passwordHash: account.passwordHash,
    });
    if (!userId) throw new AppError("CONFLICT", { message: "This email address has an account already." });
    const name = account.workspaceName ?? `${account.name}’s workspace`;
    const { kind, ...place } = from;
    const origin = { actor: kind === "session" ? { kind, userId } : { kind }, ...place };
    const { id: workspaceId } = await createWorkspace(
      trx,
      { name, ownerId: userId, origin },
      defaultQuotas, // A new user owns none, so that no quota can be exceeded.
    );
    return { userId, workspaceId };
  });
}

const passwordAdvice = {
  common: "This password is too common. Choose another one, such as four or more unrelated words.",
  personal: "Don't use your name or email address as the password.",
} as const;

/** @throws {AppError} BAD_REQUEST for a common password, and for the user's own name or email address. */
export async function requireStrongPassword(password: string, owner: PasswordOwner): Promise<void> {
  const fault = await findPasswordFault(password, owner);
  if (!fault) return;
  const issue = { path: "password", code: "too_guessable", message: passwordAdvice[fault] } as const;
  throw new AppError("BAD_REQUEST", { issues: [issue] });
}

/** How often to begin anew where the user has just become an owner: somebody might do that on purpose. */
const disablingAttempts = 20;

/**
 * Disables a user: their sessions end, and no node admits a key of theirs once this returns.
 * @throws {AppError} NOT_FOUND; CONFLICT when that would leave other members without an owner.
 */
export async function disableAccount(db: Db, user: UserReference): Promise<UserId> {
  const { id } = await getAccount(db, user);
  for (let attempt = 1; attempt <= disablingAttempts; attempt += 1) {
    if (await db.transaction().execute((trx) => disableUnlessMoreOwned(trx, id))) return id;
  }
  throw new AppError("CONFLICT", { message: "This user becomes an owner time and again. Try again." });
}

/**
 * False where the user has come to own another workspace since those they own were locked. Workspaces are locked before
 * users, by everybody; once the user is, nobody can make them an owner.
 */
async function disableUnlessMoreOwned(trx: Trx, id: UserId): Promise<boolean> {
  const checked = await requireOwnersWithout(trx, id);
  await lockUsers(trx, [id]);
  const owned = await listOwnedWorkspaces(await enterAsUser(trx, id), id);
  if (!new Set(owned).isSubsetOf(new Set(checked))) return false;
  await disableUser(trx, id);
  return true;
}

/**
 * Answers the workspaces that the user owns, locked.
 * @throws {AppError} CONFLICT when a workspace with other members would be left without an owner who can sign in. One
 *   that the user is alone in is left as it is, until the user is enabled again.
 */
async function requireOwnersWithout(trx: Trx, userId: UserId): Promise<readonly WorkspaceId[]> {
  const owned = await listOwnedWorkspaces(await enterAsUser(trx, userId), userId);
  for (const workspaceId of owned) {
    const scope = openAsOperator(workspaceId);
    const inside = await enterWorkspace(trx, scope);
    await lockWorkspace(inside, scope);
    if (await hasOtherOwner(inside, scope, userId)) continue;
    if (!(await hasOtherMember(inside, scope, userId))) continue;
    const message = "This user is the last owner of a workspace that others are members of.";
    throw new AppError("CONFLICT", { message });
  }
  return owned;
}

/**
 * Enables a user again: their keys are good once this returns, and they may sign in; no earlier session comes back.
 * @throws {AppError} NOT_FOUND
 */
export async function enableAccount(db: Db, user: UserReference): Promise<UserId> {
  const { id } = await getAccount(db, user);
  await db.transaction().execute((trx) => enableUser(trx, id));
  return id;
}

/** Names a user by ID, or by email address in lower case. */
export type UserReference = { readonly id: UserId } | { readonly email: string };

/** @throws {AppError} NOT_FOUND */
export async function getAccount(db: Db, user: UserReference): Promise<User> {
  const found = await ("id" in user ? findUser(db, user.id) : findUserByEmail(db, user.email));
  if (found) return found;
  const name = "id" in user ? encodeId("user", user.id) : user.email;
  throw new AppError("NOT_FOUND", { message: `There is no user ${name}.` });
}

/** How many users {@link listAccounts} holds in memory at a time. */
const accountsPerPage = 100;

/**
 * Every user of the instance, in the order of their IDs, which is the order in which they were created; for the
 * operator. A user who is created while the list is read may be missing from it.
 */
export async function* listAccounts(db: Db): AsyncGenerator<User> {
  let after: UserId | undefined;
  do {
    const users = await listUsers(db, { after, limit: accountsPerPage });
    yield* users;
    after = users.length === accountsPerPage ? users.at(-1)?.id : undefined;
  } while (after);
}
