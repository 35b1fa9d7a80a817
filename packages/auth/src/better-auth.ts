import { readClock } from "@latchkey/db/clock";
import { createId, type SessionId, type UserId } from "@latchkey/db/ids";
import { lockUsers } from "@latchkey/db/members";
import type { Db } from "@latchkey/db/schema";
import { hasSecondFactor } from "@latchkey/db/second-factors";
import {
  endSessions,
  findLiveSession,
  type LiveSession,
  recordSessionUse,
  renewSession,
  type SessionLifetimes,
} from "@latchkey/db/sessions";
import { findUser } from "@latchkey/db/users";
import { passwordLength } from "@latchkey/limits";
import { type BetterAuthPlugin, betterAuth } from "better-auth";
import { APIError, createAuthEndpoint } from "better-auth/api";
import { setSessionCookie } from "better-auth/cookies";
import { z } from "zod";
import {
  findCallAddress,
  findCallAuthentication,
  hasCallSecondFactor,
  inPasswordQueue,
  isCredentialCurrent,
  rejectWithoutFactor,
  rememberLoggedError,
  rememberVerifiedHash,
} from "./better-auth-call.ts";
import { hashPassword, verifyPassword } from "./password.ts";
import { consumeSignInQuota } from "./sign-in-quota.ts";
import { shortenUserAgent } from "./user-agent.ts";

export interface BetterAuthOptions {
  readonly db: Db;
  /** Signs the session cookie; at least 32 random characters. */
  readonly secret: string;
  /** The URL that people use. Its scheme decides whether cookies are `Secure`. */
  readonly baseUrl: string;
}

const secondsPerDay = 86_400;

const lifetimes: SessionLifetimes = {
  lifetimeSeconds: 14 * secondsPerDay,
  absoluteLifetimeSeconds: 30 * secondsPerDay,
  renewAfterSeconds: secondsPerDay,
};

/** Creates a better-auth instance on Latchkey's tables. Call its API through `callBetterAuth`. */
export function createBetterAuth({ db, secret, baseUrl }: BetterAuthOptions) {
  const isSecure = baseUrl.startsWith("https:");
  return betterAuth({
    appName: "Latchkey",
    baseURL: baseUrl,
    secret,
    database: { db, type: "postgres", transaction: true },
    plugins: [sessionEndpoints(db)],
    telemetry: { enabled: false },
    // Thrown failures are logged by the caller, with a request ID. This only keeps errors that better-auth doesn't
    // throw.
    logger: { level: "error", log: (_level, _message, ...details) => rememberLoggedError(details) },
    emailAndPassword: {
      enabled: true,
      // Latchkey creates an account and its workspace in one transaction instead.
      disableSignUp: true,
      minPasswordLength: passwordLength.min,
      maxPasswordLength: passwordLength.max,
      password: {
        hash: (password) => inPasswordQueue(() => hashPassword(password)),
        verify: async ({ hash, password }) => {
          const isCorrect = await inPasswordQueue(() => verifyPassword(hash, password));
          if (isCorrect) rememberVerifiedHash(hash);
          return isCorrect;
        },
      },
    },
    user: {
      modelName: "users",
      fields: { emailVerified: "email_verified", createdAt: "created_at", updatedAt: "updated_at" },
    },
    session: {
      modelName: "sessions",
      fields: {
        userId: "user_id",
        expiresAt: "expires_at",
        ipAddress: "ip_address",
        userAgent: "user_agent",
        createdAt: "created_at",
        updatedAt: "updated_at",
      },
      additionalFields: {
        hasSecondFactor: { type: "boolean", fieldName: "has_second_factor", input: false, required: false },
        authenticatedAt: { type: "date", fieldName: "authenticated_at", input: false, required: false },
      },
      expiresIn: lifetimes.lifetimeSeconds,
      // Disabled, because a cached session would stay valid after a sign-out, or after its user was disabled.
      cookieCache: { enabled: false },
    },
    account: {
      modelName: "accounts",
      fields: {
        userId: "user_id",
        accountId: "account_id",
        providerId: "provider_id",
        accessToken: "access_token",
        refreshToken: "refresh_token",
        idToken: "id_token",
        accessTokenExpiresAt: "access_token_expires_at",
        refreshTokenExpiresAt: "refresh_token_expires_at",
        createdAt: "created_at",
        updatedAt: "updated_at",
      },
    },
    verification: {
      modelName: "verifications",
      fields: { expiresAt: "expires_at", createdAt: "created_at", updatedAt: "updated_at" },
    },
    databaseHooks: {
      session: {
        create: {
          // This runs only after a correct password, so the error must be the same as for a wrong one.
          before: async ({ userId, userAgent }) => {
            const user = await findUser(db, userId as UserId); // better-auth read it from users.id.
            // The account may have been deleted since the password was checked.
            if (!user || user.isDisabled) throw new APIError("UNAUTHORIZED");
            const isProved = hasCallSecondFactor();
            if (!isProved && (await hasSecondFactor(db, user.id))) rejectWithoutFactor(user.id);
            await consumeSignInQuota(db, user.id);
            const now = await readClock(db);
            const expiresAt = new Date(now.getTime() + lifetimes.lifetimeSeconds * 1_000);
            const authenticatedAt = findCallAuthentication();
            const shortUserAgent = userAgent && shortenUserAgent(userAgent);
            return {
              data: {
                createdAt: now,
                updatedAt: now,
                expiresAt,
                userAgent: shortUserAgent,
                ipAddress: findCallAddress(),
                hasSecondFactor: isProved,
                // If the provider reports no time, or one in the future, the default is the time of the sign-in.
                ...(authenticatedAt && authenticatedAt < now && { authenticatedAt }),
              },
            };
          },
          after: async ({ id, userId }) => {
            // better-auth read both from the database.
            if (!(await keepSession(db, { id: id as SessionId, userId: userId as UserId })))
              throw new APIError("UNAUTHORIZED");
          },
        },
      },
    },
    advanced: {
      database: { generateId: () => createId("session") satisfies SessionId },
      useSecureCookies: false,
      // Disabled, because better-auth would trust the X-Forwarded-For of any client.
      ipAddress: { disableIpTracking: true },
      cookies: {
        session_token: {
          name: isSecure ? "__Host-latchkey-session" : "latchkey-session",
          attributes: { path: "/", httpOnly: true, sameSite: "lax", secure: isSecure },
        },
      },
    },
  });
}

/**
 * Ends a new session if its credential no longer exists. The lock waits for a transaction that replaces the credential,
 * which ends all sessions that it sees.
 */
async function keepSession(
  db: Db,
  { id, userId }: { readonly id: SessionId; readonly userId: UserId },
): Promise<boolean> {
  return await db.transaction().execute(async (trx) => {
    await lockUsers(trx, [userId]);
    if (await isCredentialCurrent(trx, userId)) return true;
    await endSessions(trx, userId, { id });
    return false;
  });
}

/**
 * Adds two endpoints to better-auth. `findLiveSession` replaces better-auth's lookup, which uses the node's clock:
 * sessions would end early on a node whose clock is ahead, and late on a node whose clock is behind. `openSession`
 * opens a session without a password, after a sign-up or a second factor.
 */
function sessionEndpoints(db: Db) {
  return {
    id: "latchkey",
    endpoints: {
      findLiveSession: createAuthEndpoint.serverOnly({ method: "GET", requireHeaders: true }, async (ctx) => {
        const { name, attributes } = ctx.context.authCookies.sessionToken;
        const token = await ctx.getSignedCookie(name, ctx.context.secret);
        if (!token) return undefined;
        const session = await findLiveSession(db, token, lifetimes);
        if (session?.isUseDue) await recordSessionUse(db, session.id, findCallAddress());
        const maxAge = session?.isRenewalDue ? await renewSession(db, token, lifetimes) : undefined;
        if (maxAge !== undefined) {
          await ctx.setSignedCookie(name, token, ctx.context.secret, { ...attributes, maxAge });
        }
        return session satisfies LiveSession | undefined;
      }),
      openSession: createAuthEndpoint.serverOnly(
        { method: "POST", requireHeaders: true, body: z.strictObject({ userId: z.string() }) },
        async (ctx) => {
          const { internalAdapter } = ctx.context;
          const user = await internalAdapter.findUserById(ctx.body.userId);
          // The account may have been deleted since the credential was checked.
          if (!user) throw new APIError("UNAUTHORIZED");
          const session = await internalAdapter.createSession(user.id);
          await setSessionCookie(ctx, { session, user });
          return user;
        },
      ),
    },
  } satisfies BetterAuthPlugin;
}
