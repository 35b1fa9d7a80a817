import { SecondFactorRequiredError } from "@latchkey/auth/better-auth-call";
import { findIdentityUser, insertIdentity, recordIdentityUse } from "@latchkey/db/identities";
import type { UserId } from "@latchkey/db/ids";
import { lockUsers } from "@latchkey/db/members";
import type { Trx } from "@latchkey/db/schema";
import { findFactorKinds } from "@latchkey/db/second-factors";
import { appendSecurityEvent } from "@latchkey/db/security-events";
import { findUser, findUserByEmail, hasVerifiedEmail, insertUser } from "@latchkey/db/users";
import { AppError } from "@latchkey/errors";
import { acceptInvitation } from "./accept-invitation.ts";
import { consumeIdentityLinkQuota } from "./account-change-quota.ts";
import { addFirstWorkspace } from "./accounts.ts";
import { completeOpenid } from "./openid-attempts.ts";
import { type OpenidClaims, type OpenidResponse, requireOpenid } from "./openid-provider.ts";
import { createPendingSignIn } from "./pending-sign-in.ts";
import { reportRejectedSignIn } from "./report-rejected-sign-in.ts";
import type { Services } from "./services.ts";
import { completeSignIn, type SignInResult } from "./sign-in.ts";
import {
  consumeSignUpAttempt,
  openSession,
  refundUnchecked,
  requestOriginOf,
  type Visitor,
} from "./sign-in-attempts.ts";
import { explainRegistration } from "./sign-up-rejected.ts";

/** The person whom the provider signed in. */
interface Person extends OpenidClaims {
  /** In lower case; undefined unless the provider has verified it. */
  readonly verifiedEmail: string | undefined;
  /** The name for a new account. */
  readonly accountName: string;
}

/** Reads the claims, and validates the email address and the name like form input. */
export type ReadPerson = (claims: OpenidClaims) => Person;

export type OpenidSignIn = SignInResult & { readonly isNewAccount: boolean };

/**
 * Signs in the user with whom the identity is linked, or else the user with its email address if both the provider and
 * this instance have verified that email address, or else a new user.
 * @param attempt.invitation the token of an invitation, with which a new user joins.
 * @throws {AppError} UNAUTHORIZED as {@link completeOpenid}, and for a user who is disabled or was just deleted; FORBIDDEN
 *   if the identity can't be linked or registration doesn't allow a new account; TOO_MANY_REQUESTS; as
 *   {@link acceptInvitation}.
 */
export async function signInWithOpenid(
  services: Services,
  attempt: {
    readonly token: string | undefined;
    readonly response: OpenidResponse;
    readonly invitation: string | undefined;
    readonly readPerson: ReadPerson;
  },
  visitor: Visitor,
): Promise<OpenidSignIn> {
  const { db } = services;
  const access = {
    ...services,
    transact: transactOf(services),
    read: (work) => work(db),
  } satisfies Parameters<typeof completeOpenid>[0];
  const person = attempt.readPerson(await completeOpenid(access, { kind: "sign-in" }, attempt, visitor));
  const { userId, isNewAccount } = await findOrCreateUser(services, person, attempt.invitation, visitor);
  // The provider may have authenticated the person hours ago. At an unlocked browser, signing out and in again must not
  // allow sensitive changes. A new account has nothing to protect yet.
  const authenticatedAt = isNewAccount ? undefined : person.authenticatedAt;
  try {
    const isCurrent = async (trx: Trx) => (await findIdentityUser(trx, person)) === userId;
    const session = await openSession(services, userId, { ...visitor, authenticatedAt, isCurrent });
    const kind = isNewAccount ? "signed-up" : "signed-in";
    const completed = await completeSignIn(services, session, { visitor, kind, factor: "openid" });
    return { kind: "signed-in", session: completed, isNewAccount };
  } catch (error) {
    if (!(error instanceof SecondFactorRequiredError)) throw error;
    const pending = await createPendingSignIn(db, {
      ...{ userId, isCurrent: error.isCurrent, authenticatedAt },
      rejection: () => new AppError("UNAUTHORIZED", { message: "You couldn’t be signed in. Sign in again." }),
    });
    const factors = await findFactorKinds(db, userId);
    return { kind: "second-factor-required", pending, factors, isNewAccount };
  }
}

type FoundUser = { readonly userId: UserId; readonly isNewAccount: boolean };

async function findOrCreateUser(
  services: Services,
  person: Person,
  invitation: string | undefined,
  visitor: Visitor,
): Promise<FoundUser> {
  const { db } = services;
  const known = await findIdentityUser(db, person);
  if (known) {
    await useIdentity(services, known, person, visitor);
    return { userId: known, isNewAccount: false };
  }
  const { verifiedEmail: email } = person;
  const { name } = requireOpenid(services);
  if (email === undefined) {
    const message = `${name} didn’t provide a verified email address for you. Verify it there, or sign in another way.`;
    throw await rejected(services, { message, userId: undefined }, visitor);
  }
  const user = await findUserByEmail(db, email);
  if (user) {
    await linkByEmail(services, { userId: user.id, email }, person, visitor);
    return { userId: user.id, isNewAccount: false };
  }
  return {
    userId: await createUser(services, { ...person, email }, invitation, visitor),
    isNewAccount: true,
  };
}

async function useIdentity(
  services: Services,
  userId: UserId,
  person: Person,
  visitor: Visitor,
): Promise<void> {
  const isUsed = await services.db.transaction().execute(async (trx) => {
    await lockUsers(trx, [userId]);
    const user = await findUser(trx, userId);
    if (!user || user.isDisabled) return false;
    return await recordIdentityUse(trx, userId, person);
  });
  if (!isUsed) throw await rejectedUser(services, userId, visitor);
}

/**
 * Links the identity with the user who has its email address. Without a verification here, someone else may have signed
 * up with the email address and know the password.
 */
async function linkByEmail(
  services: Services,
  { userId, email }: { readonly userId: UserId; readonly email: string },
  person: Person,
  visitor: Visitor,
): Promise<void> {
  const { name } = requireOpenid(services);
  const result = await services.db.transaction().execute(async (trx) => {
    await lockUsers(trx, [userId]);
    const user = await findUser(trx, userId);
    if (!user || user.isDisabled) return "no-access";
    if (user.email !== email || !(await hasVerifiedEmail(trx, userId))) return "unverified";
    const isNew = await insertIdentity(trx, userId, { ...person, email });
    // A concurrent sign-in, such as one in another tab, may have just linked the identity.
    if (!isNew && (await findIdentityUser(trx, person)) !== userId) return "other-identity";
    await recordIdentityUse(trx, userId, person);
    if (!isNew) return "linked";
    await consumeIdentityLinkQuota(trx, userId);
    const origin = {
      actor: { kind: "session", userId, isRecentlyAuthenticated: true },
      ...requestOriginOf(visitor),
    } as const;
    await appendSecurityEvent(trx, origin, { userId, action: "identity.linked", after: { provider: name } });
    return "linked";
  });
  switch (result) {
    case "linked":
      return;
    case "no-access":
      throw await rejectedUser(services, userId, visitor);
    case "unverified": {
      const message = `Your email address already has an account, which isn’t linked to ${name}. Sign in to it another way, then link ${name} under Account → Security.`;
      throw await rejected(services, { message, userId }, visitor);
    }
    case "other-identity": {
      const message = `Your email address has an account that is linked to another identity at ${name}. Sign in to it another way, then unlink that identity under Account → Security.`;
      throw await rejected(services, { message, userId }, visitor);
    }
    default:
      throw new Error(result satisfies never);
  }
}

/** Creates a user without a password, with a first workspace or as a member of the workspace of the invitation. */
async function createUser(
  services: Services,
  person: Person & { readonly email: string },
  invitation: string | undefined,
  visitor: Visitor,
): Promise<UserId> {
  const { db, configuration, quotas } = services;
  const { email, accountName } = person;
  const { registration } = configuration;
  if (registration === "closed" || (registration === "invite" && invitation === undefined)) {
    const message = explainRegistration(registration);
    throw await rejected(services, { message, userId: undefined }, visitor);
  }
  const attempt = await consumeSignUpAttempt(services, visitor);
  const request = requestOriginOf(visitor);
  return await db
    .transaction()
    .execute(async (trx) => {
      const userId = await insertUser(trx, { email, name: accountName, isEmailVerified: true });
      const isLinked = userId && (await insertIdentity(trx, userId, person));
      if (!userId || !isLinked) {
        const message = "This account has just been created. Sign in again.";
        throw new AppError("CONFLICT", { message });
      }
      await joinOrCreate(trx, userId);
      return userId;
    })
    .catch(async (error: unknown) => {
      await refundUnchecked(attempt);
      throw error;
    });

  async function joinOrCreate(trx: Trx, userId: UserId): Promise<void> {
    if (invitation !== undefined) {
      await acceptInvitation(trx, invitation, { userId, ...request }, quotas);
      return;
    }
    const origin = { actor: { kind: "session", userId, isRecentlyAuthenticated: true }, ...request } as const;
    await addFirstWorkspace(trx, { userId, name: accountName, origin });
  }
}

/** The error for a user who is disabled or was just deleted, which doesn't say why. */
async function rejectedUser(services: Services, userId: UserId, visitor: Visitor): Promise<AppError> {
  const { name } = requireOpenid(services);
  const message = `You can’t sign in with ${name}. Ask the operator of this instance.`;
  await reportRejectedSignIn(services, { reason: "openid", userId }, visitor);
  return new AppError("UNAUTHORIZED", { message });
}

async function rejected(
  services: Services,
  { message, userId }: { readonly message: string; readonly userId: UserId | undefined },
  visitor: Visitor,
): Promise<AppError> {
  await reportRejectedSignIn(services, { reason: "openid", userId }, visitor);
  return new AppError("FORBIDDEN", { message });
}

/** Runs changes of a visitor, who has no user yet. */
export function transactOf({ db }: Pick<Services, "db">) {
  return <Result>(work: (trx: Trx) => Promise<Result>): Promise<Result> => db.transaction().execute(work);
}
