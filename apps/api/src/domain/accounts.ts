import { findPasswordFault, type PasswordOwner } from "@latchkey/auth/password-rules";
import { openAsOperator } from "@latchkey/auth/workspace-access";
import type { Origin, RequestOrigin } from "@latchkey/db/audit-actions";
import { decodeId, encodeId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { appendInstanceEvent } from "@latchkey/db/instance-events";
import { findMember, hasOtherMember, hasOtherOwner } from "@latchkey/db/members";
import { listOwnedWorkspaces } from "@latchkey/db/memberships";
import { listUserOverviews } from "@latchkey/db/operator-users";
import { isOperator } from "@latchkey/db/operators";
import type { Position } from "@latchkey/db/page";
import type { Db, Trx } from "@latchkey/db/schema";
import { appendSecurityEvent } from "@latchkey/db/security-events";
import { endSessions } from "@latchkey/db/sessions";
import {
  disableUser,
  enableUser,
  findKeyOwner,
  findUser,
  findUserByEmail,
  insertUserWithPassword,
  type KeyOwner,
  listUsers,
  type User,
} from "@latchkey/db/users";
import { lockWorkspace } from "@latchkey/db/workspace-locks";
import { enterAsUser, enterWorkspace, inWorkspace } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import { maxLength } from "@latchkey/limits";
import { joinSome } from "./join-some.ts";
import { lockWithOperators, requireOtherOperator } from "./operators.ts";
import { endPendingSignIns } from "./pending-sign-in.ts";
import { defaultQuotas } from "./quotas.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import type { Services } from "./services.ts";
import { type Registration, signUpRejected } from "./sign-up-rejected.ts";
import { addSignUpVerificationJob } from "./verification-job.ts";
import { createWorkspace } from "./workspaces.ts";

export interface NewAccount {
  readonly email: string;
  readonly name: string;
  /** From `hashPassword`. */
  readonly passwordHash: string;
  /** The name of the first workspace; by default, it is made from the user's name. */
  readonly workspaceName?: string | undefined;
}

/** The origin of a new account: a sign-up in the web app, or the `latchkey` command. */
export interface NewAccountOrigin extends RequestOrigin {
  readonly kind: "session" | "command";
}

/**
 * Creates a user with a password, and a first workspace that the user owns, in one transaction.
 * @param options.verificationServices used to email a verification link, as far as the limits allow; without them, none is emailed.
 * @param options.registration unless it is `open`, only the first account of the instance may be created.
 * @throws {AppError} CONFLICT if the email address has an account; FORBIDDEN unless registration is open or this is the first account.
 */
export async function createAccount(
  db: Db,
  account: NewAccount,
  from: NewAccountOrigin,
  {
    registration = "open",
    verificationServices,
  }: {
    readonly registration?: Registration;
    readonly verificationServices?: Pick<Services, "sendsEmail" | "signInThrottle">;
  } = {},
): Promise<{ userId: UserId; workspaceId: WorkspaceId }> {
  const email = account.email.toLowerCase();
  return await db.transaction().execute(async (trx) => {
    const userId = await insertUserWithPassword(trx, {
      email,
      name: account.name,
      passwordHash: account.passwordHash,
    });
    if (!userId) throw new AppError("CONFLICT", { message: "This email address already has an account." });
    // The trigger that makes the first user the operator has determined, under its lock, which of several concurrent
    // sign-ups is the first.
    if (registration !== "open" && !(await isOperator(trx, userId))) throw signUpRejected(registration);
    const { kind, ...place } = from;
    const origin = {
      actor: kind === "session" ? { kind, userId, isRecentlyAuthenticated: true } : { kind },
      ...place,
    };
    const workspaceId = await addFirstWorkspace(trx, { ...account, userId, origin });
    if (kind === "command") await appendInstanceEvent(trx, origin, { action: "user.created", userId });
    if (verificationServices) await addSignUpVerificationJob(trx, verificationServices, { userId, email });
    return { userId, workspaceId };
  });
}

/** Creates the first workspace of a new user. Its name is made from the user's name by default. */
export async function addFirstWorkspace(
  trx: Trx,
  {
    userId,
    name,
    workspaceName = nameFirstWorkspace(name),
    origin,
  }: Pick<NewAccount, "name" | "workspaceName"> & { readonly userId: UserId; readonly origin: Origin },
): Promise<WorkspaceId> {
  const { id } = await createWorkspace(
    trx,
    { name: workspaceName, ownerId: userId, origin },
    defaultQuotas, // A new user owns no workspace, so the quota can't be exceeded.
  );
  return id;
}

/** Names a workspace after its owner. Cuts a long name, so that the result isn't too long for the name of a workspace. */
function nameFirstWorkspace(ownerName: string): string {
  const ending = "’s workspace";
  // Limits count code points, which a string's iterator yields.
  const start = [...ownerName].slice(0, maxLength.workspaceName - [...ending].length);
  return `${start.join("").trimEnd()}${ending}`;
}

const passwordAdvice = {
  common: "This password is too common. Choose another one, such as four or more unrelated words.",
  personal: "Don't use your name or email address as the password.",
} as const;

/**
 * @param path the field of the request with the password.
 * @throws {AppError} BAD_REQUEST for a common password, and for the user's own name or email address.
 */
export async function requireStrongPassword(
  password: string,
  owner: PasswordOwner,
  path = "password",
): Promise<void> {
  const fault = await findPasswordFault(password, owner);
  if (!fault) return;
  const issue = { path, code: "too_guessable", message: passwordAdvice[fault] } as const;
  throw new AppError("BAD_REQUEST", { issues: [issue] });
}

/**
 * How many times to retry if the user becomes an owner of another workspace concurrently, which could be an attack.
 */
const disablingAttempts = 20;

/**
 * Disables a user. Their sessions end, and once this returns, no node admits any of their keys.
 * @param transact runs a transaction.
 * @throws {AppError} CONFLICT if it would leave the other members of a workspace without an owner, or the instance without
 *   an operator; FORBIDDEN if the person who makes the change is no longer an operator.
 */
export async function disableAccount(transact: Transact, id: UserId, origin: Origin): Promise<void> {
  for (let attempt = 1; attempt <= disablingAttempts; attempt += 1) {
    if (await transact((trx) => disableIfOwnershipUnchanged(trx, id, origin))) return;
  }
  throw new AppError("CONFLICT", {
    message: "The user's workspaces changed while the user was being disabled. Try again.",
  });
}

/**
 * Returns false if the user has become the owner of another workspace since their workspaces were locked. Every
 * transaction locks workspaces before users, and a locked user can't be made an owner.
 */
async function disableIfOwnershipUnchanged(trx: Trx, id: UserId, origin: Origin): Promise<boolean> {
  const checked = await lockOwnedWorkspaces(trx, id, origin);
  await lockWithOperators(trx, [id], origin);
  await requireOtherOperator(trx, id);
  const owned = await listOwnedWorkspaces(await enterAsUser(trx, id), id);
  if (!new Set(owned).isSubsetOf(new Set(checked))) return false;
  if (await disableUser(trx, id)) {
    await endPendingSignIns(trx, id);
    await appendInstanceEvent(trx, origin, { action: "user.disabled", userId: id });
  }
  return true;
}

/**
 * Locks and returns the workspaces that the user owns.
 * @throws {AppError} CONFLICT if a workspace with other members would have no owner who can sign in. A workspace whose
 *   only member is the user stays as it is until the user is enabled again.
 */
async function lockOwnedWorkspaces(
  trx: Trx,
  userId: UserId,
  { actor }: Origin,
): Promise<readonly WorkspaceId[]> {
  const owned = await listOwnedWorkspaces(await enterAsUser(trx, userId), userId);
  const needed: WorkspaceId[] = [];
  for (const workspaceId of owned) {
    const scope = openAsOperator(workspaceId);
    const workspaceTrx = await enterWorkspace(trx, scope);
    await lockWorkspace(workspaceTrx, scope);
    if (await hasOtherOwner(workspaceTrx, scope, userId)) continue;
    if (await hasOtherMember(workspaceTrx, scope, userId)) needed.push(workspaceId);
  }
  if (needed.length === 0) return owned;
  // Only the command takes IDs of workspaces.
  const list = actor.kind === "command" ? `: ${joinSome(needed.map((id) => encodeId("workspace", id)))}` : "";
  const message = `This user is the last owner of a workspace that has other members. Transfer ownership to another member first${list}.`;
  throw new AppError("CONFLICT", { message });
}

/**
 * Enables a user again. Once this is committed, they can sign in and their keys are admitted. Earlier sessions stay ended.
 * @throws {AppError} FORBIDDEN without recent authentication.
 */
export async function enableAccount(trx: Trx, id: UserId, origin: Origin): Promise<void> {
  requireRecentAuthentication(origin);
  await lockWithOperators(trx, [id], origin);
  if (await enableUser(trx, id))
    await appendInstanceEvent(trx, origin, { action: "user.enabled", userId: id });
}

/** Ends all sessions of a user, for an operator. Returns how many ended. */
export async function endAccountSessions(trx: Trx, id: UserId, origin: Origin): Promise<number> {
  await lockWithOperators(trx, [id], origin);
  const count = await endSessions(trx, id, "all");
  await endPendingSignIns(trx, id);
  if (count > 0)
    await appendSecurityEvent(trx, origin, { userId: id, action: "session.ended", after: { count } });
  return count;
}

/** Runs a transaction; of a person, within their limit of concurrent changes. */
export type Transact = <Result>(work: (trx: Trx) => Promise<Result>) => Promise<Result>;

/** A user's ID, or their email address in lower case. */
export type UserReference = { readonly id: UserId } | { readonly email: string };

/** @throws {AppError} NOT_FOUND */
export async function getAccount(db: Db, user: UserReference): Promise<User> {
  const found = await ("id" in user ? findUser(db, user.id) : findUserByEmail(db, user.email));
  if (found) return found;
  if ("id" in user && (await findKeyOwner(db, user.id))) {
    const message = `${encodeId("user", user.id)} is a service account, not a person.`;
    throw new AppError("NOT_FOUND", { message });
  }
  const name = "id" in user ? encodeId("user", user.id) : user.email;
  throw new AppError("NOT_FOUND", { message: `There is no user ${name}.` });
}

/**
 * Finds the owner of API keys: a person, or a service account by its ID.
 * @throws {AppError} NOT_FOUND, also for a deleted service account, whose row is kept for audit logs.
 */
export async function getKeyOwner(db: Db, user: UserReference): Promise<KeyOwner> {
  const owner = "id" in user ? await findKeyOwner(db, user.id) : undefined;
  if (!owner) return { ...(await getAccount(db, user)), kind: "person", serviceWorkspaceId: null };
  if (owner.serviceWorkspaceId) {
    const scope = openAsOperator(owner.serviceWorkspaceId);
    const member = await inWorkspace(db, scope, (trx) => findMember(trx, scope, owner.id));
    if (!member) throw new AppError("NOT_FOUND", { message: "There is no such service account." });
  }
  return owner;
}

/** How many users {@link listAccounts} and {@link searchAccounts} keep in memory at a time. */
const accountsPerPage = 100;

/**
 * Lists every user of the instance in order of creation, for the operator. A user who is created while the list is
 * read may be missing from it.
 */
export async function* listAccounts(db: Db): AsyncGenerator<User> {
  let after: UserId | undefined;
  do {
    const users = await listUsers(db, { after, limit: accountsPerPage });
    yield* users;
    after = users.length === accountsPerPage ? users.at(-1)?.id : undefined;
  } while (after);
}

/** Lists the users whose name or email address contains a text, or who have the ID, in order of creation. */
export async function* searchAccounts(db: Db, search: string): AsyncGenerator<User> {
  const filter = { search, id: decodeId("user", search) };
  let after: Position | undefined;
  do {
    const page = { sort: "createdAt", direction: "asc", limit: accountsPerPage, after, filter } as const;
    const users = await listUserOverviews(db, page);
    yield* users;
    const last = users.length === accountsPerPage ? users.at(-1) : undefined;
    after = last && { value: last.position, id: last.id };
  } while (after);
}
