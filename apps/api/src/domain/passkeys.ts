import {
  type AuthenticationOptions,
  type AuthenticationResponse,
  createAuthenticationOptions,
  createRegistrationOptions,
  type RegistrationOptions,
  type RegistrationResponse,
  verifyAuthentication,
  verifyRegistration,
} from "@latchkey/auth/passkeys";
import type { RelyingParty } from "@latchkey/auth/relying-party";
import type { SessionUser } from "@latchkey/auth/sessions";
import type { PasskeyId, UserId } from "@latchkey/db/ids";
import {
  deletePasskey,
  findPasskey,
  insertPasskey,
  listPasskeyCredentials,
  recordPasskeyUse,
  renamePasskey,
} from "@latchkey/db/passkeys";
import type { Db, Trx } from "@latchkey/db/schema";
import { appendSecurityEvent } from "@latchkey/db/security-events";
import { recordAuthentication } from "@latchkey/db/sessions";
import { AppError } from "@latchkey/errors";
import { type AccountEdit, lockAccount } from "./account.ts";
import { consumeAccountChangeQuota } from "./account-change-quota.ts";
import { type ChallengeContext, consumeChallenge, createChallenge } from "./passkey-challenges.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { completeAddition, completeRemoval } from "./second-factors.ts";
import type { Services } from "./services.ts";

/** How many passkeys a user can have. */
const maxPasskeys = 20;

/** A user who changes or uses their passkeys in a session, within the user's limits. */
interface PasskeyCaller extends Omit<AccountEdit, "userId"> {
  readonly user: SessionUser;
  readonly read: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;
  readonly transact: <Result>(work: (trx: Trx) => Promise<Result>) => Promise<Result>;
}

type PasskeyServices = Pick<Services, "relyingParty">;

/** @throws {AppError} CONFLICT if browsers offer no passkeys to this instance. */
export function requireRelyingParty({ relyingParty }: PasskeyServices): RelyingParty {
  if (relyingParty) return relyingParty;
  throw new AppError("CONFLICT", { message: "Passkeys need an instance with HTTPS and a host name." });
}

/**
 * Creates what the user's browser needs to create a passkey.
 * @throws {AppError} FORBIDDEN without recent authentication; CONFLICT if the user has as many passkeys as allowed.
 */
export async function startPasskeyRegistration(
  services: PasskeyServices,
  { user, sessionId, origin, read, transact }: PasskeyCaller,
): Promise<RegistrationOptions> {
  const relyingParty = requireRelyingParty(services);
  requireRecentAuthentication(origin);
  const existing = await read((reader) => listPasskeyCredentials(reader, user.id));
  requireRoom(existing.length);
  const context: ChallengeContext = { use: "registration", binding: sessionId };
  const challenge = await transact((trx) => createChallenge(trx, context, user.id));
  const handle = Buffer.from(user.id.replaceAll("-", ""), "hex");
  return await createRegistrationOptions(relyingParty, { ...user, handle }, { challenge, existing });
}

function requireRoom(count: number): void {
  if (count < maxPasskeys) return;
  throw new AppError("CONFLICT", {
    message: `You can have at most ${maxPasskeys} passkeys. Remove one first.`,
  });
}

/**
 * Adds a passkey. All other sessions end.
 * @returns recovery codes, if this is the user's first second factor.
 * @throws {AppError} FORBIDDEN without recent authentication; BAD_REQUEST if the browser's response isn't valid;
 *   CONFLICT if the passkey is already registered, or the user has as many as allowed; TOO_MANY_REQUESTS.
 */
export async function addPasskey(
  services: PasskeyServices & Pick<Services, "factorSecrets">,
  { user, sessionId, origin, transact }: PasskeyCaller,
  { name, response }: { readonly name: string; readonly response: RegistrationResponse },
): Promise<readonly string[] | undefined> {
  const relyingParty = requireRelyingParty(services);
  requireRecentAuthentication(origin);
  const context: ChallengeContext = { use: "registration", binding: sessionId };
  const credential = await verifyRegistration(relyingParty, response, (challenge) =>
    transact((trx) => consumeChallenge(trx, context, challenge)),
  );
  if (!credential)
    throw new AppError("BAD_REQUEST", { message: "The passkey couldn’t be verified. Try again." });
  const userId = user.id;
  const edit = { userId, sessionId, origin };
  return await transact(async (trx) => {
    await lockAccount(trx, edit);
    await consumeAccountChangeQuota(trx, userId);
    requireRoom((await listPasskeyCredentials(trx, userId)).length);
    if (!(await insertPasskey(trx, userId, { ...credential, name }))) {
      throw new AppError("CONFLICT", { message: "This passkey is already registered." });
    }
    await appendSecurityEvent(trx, origin, { userId, action: "passkey.added", after: { name } });
    return await completeAddition(trx, services, edit);
  });
}

/** Changes the name of a passkey. @throws {AppError} NOT_FOUND, TOO_MANY_REQUESTS */
export async function changePasskeyName(
  trx: Trx,
  edit: AccountEdit,
  { id, name }: { readonly id: PasskeyId; readonly name: string },
): Promise<void> {
  const { userId, origin } = edit;
  await lockAccount(trx, edit);
  const former = await renamePasskey(trx, { userId, id }, name);
  if (former === undefined) throw unknownPasskey();
  if (former === name) return;
  await consumeAccountChangeQuota(trx, userId);
  const change = { before: { name: former }, after: { name } };
  await appendSecurityEvent(trx, origin, { userId, action: "passkey.renamed", ...change });
}

/**
 * Removes a passkey. All other sessions end. Without another factor, the recovery codes are deleted too.
 * @throws {AppError} FORBIDDEN without recent authentication; NOT_FOUND
 */
export async function removePasskey(trx: Trx, edit: AccountEdit, id: PasskeyId): Promise<void> {
  const { userId, origin } = edit;
  requireRecentAuthentication(origin);
  await lockAccount(trx, edit);
  const name = await deletePasskey(trx, { userId, id });
  if (name === undefined) throw unknownPasskey();
  await appendSecurityEvent(trx, origin, { userId, action: "passkey.removed", before: { name } });
  await completeRemoval(trx, edit);
}

function unknownPasskey(): AppError {
  return new AppError("NOT_FOUND", { message: "You have no such passkey." });
}

/** Creates the options for a passkey assertion that confirms a sensitive change. */
export async function startPasskeyConfirmation(
  services: PasskeyServices,
  { user, sessionId, read, transact }: Omit<PasskeyCaller, "origin">,
): Promise<AuthenticationOptions> {
  const relyingParty = requireRelyingParty(services);
  const allowed = await read((reader) => listPasskeyCredentials(reader, user.id));
  if (allowed.length === 0) throw new AppError("CONFLICT", { message: "You have no passkey." });
  const context: ChallengeContext = { use: "confirmation", binding: sessionId };
  const challenge = await transact((trx) => createChallenge(trx, context, user.id));
  return await createAuthenticationOptions(relyingParty, { challenge, allowed });
}

/** Lets the session make sensitive changes for 15 minutes. @throws {AppError} BAD_REQUEST for another passkey. */
export async function confirmWithPasskey(
  services: PasskeyServices,
  { user, sessionId, read, transact }: Omit<PasskeyCaller, "origin">,
  response: AuthenticationResponse,
): Promise<void> {
  const context: ChallengeContext = { use: "confirmation", binding: sessionId };
  const check = await checkPasskey(requireRelyingParty(services), { response, context, read, transact });
  if (check.kind === "rejected" || check.userId !== user.id) throw rejectedPasskey("BAD_REQUEST");
  await transact(async (trx) => {
    await lockAccount(trx, { userId: user.id, sessionId });
    if (!(await recordPasskeyUse(trx, check.id, check.signCount))) throw rejectedPasskey("BAD_REQUEST");
    await recordAuthentication(trx, sessionId);
  });
}

/** A passkey that answered a challenge. Record its use before you rely on it. */
export interface UsedPasskey {
  readonly id: PasskeyId;
  readonly userId: UserId;
  /** The authenticator's new count of signatures. */
  readonly signCount: number;
}

/** The result of verifying a response. */
type PasskeyCheck =
  | ({ readonly kind: "verified" } & UsedPasskey)
  | {
      readonly kind: "rejected";
      /** The user of the passkey, if the response answers a challenge; otherwise anyone can have invented it. */
      readonly userId: UserId | undefined;
    };

/** Verifies a response, and uses up its challenge. */
export async function checkPasskey(
  relyingParty: RelyingParty,
  {
    response,
    context,
    read,
    transact,
  }: Pick<PasskeyCaller, "read" | "transact"> & {
    readonly response: AuthenticationResponse;
    readonly context: ChallengeContext;
  },
): Promise<PasskeyCheck> {
  const credential = await read((db) => findPasskey(db, response.id));
  if (!credential) return { kind: "rejected", userId: undefined };
  const { id, userId } = credential;
  let isAnswer = false;
  const signCount = await verifyAuthentication(relyingParty, { response, credential }, async (challenge) => {
    isAnswer = await transact((trx) => consumeChallenge(trx, context, challenge));
    return isAnswer;
  });
  if (signCount === undefined) return { kind: "rejected", userId: isAnswer ? userId : undefined };
  return { kind: "verified", id, userId, signCount };
}

export function rejectedPasskey(code: "BAD_REQUEST" | "UNAUTHORIZED"): AppError {
  const message =
    "This passkey can’t be used here. It may have been removed, or the request took too long. Try again.";
  return new AppError(code, { message });
}
