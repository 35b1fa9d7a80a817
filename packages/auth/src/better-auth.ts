import { readClock } from "@latchkey/db/clock";
import { createId, type SessionId, type UserId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import { findLiveSession, type LiveSession, renewSession, type SessionTerms } from "@latchkey/db/sessions";
import { getUser } from "@latchkey/db/users";
import { type BetterAuthPlugin, betterAuth } from "better-auth";
import { APIError, createAuthEndpoint } from "better-auth/api";
import { setSessionCookie } from "better-auth/cookies";
import { z } from "zod";
import { inPasswordQueue, keepCause } from "./better-auth-call.ts";
import { hashPassword, maxPasswordLength, minPasswordLength, verifyPassword } from "./password.ts";
import { redactKeys } from "./redact-keys.ts";

export interface BetterAuthOptions {
  readonly db: Db;
  /** Signs the session cookie; at least 32 random characters. */
  readonly secret: string;
  /** The address that people use; its scheme decides whether cookies are `Secure`. */
  readonly baseUrl: string;
}

const secondsPerDay = 86_400;

const terms: SessionTerms = {
  lifetimeSeconds: 14 * secondsPerDay,
  absoluteLifetimeSeconds: 30 * secondsPerDay,
  renewAfterSeconds: secondsPerDay,
};

/** Stored to tell sessions apart in a list, for which this is plenty; in characters. */
const maxUserAgentLength = 256;

/** better-auth over our tables. Call it through `callBetterAuth`. */
export function createBetterAuth({ db, secret, baseUrl }: BetterAuthOptions) {
  const isSecure = baseUrl.startsWith("https:");
  return betterAuth({
    appName: "Latchkey",
    baseURL: baseUrl,
    secret,
    database: { db, type: "postgres", transaction: true },
    plugins: [sessionEndpoints(db)],
    telemetry: { enabled: false },
    // Failures are thrown to us and logged there, with a request id; this only keeps what they hide.
    logger: { level: "error", log: (_level, _message, ...details) => keepCause(details) },
    emailAndPassword: {
      enabled: true,
      // Accounts are made in one transaction with their workspace, by the domain.
      disableSignUp: true,
      minPasswordLength,
      maxPasswordLength,
      password: {
        hash: (password) => inPasswordQueue(() => hashPassword(password)),
        verify: ({ hash, password }) => inPasswordQueue(() => verifyPassword(hash, password)),
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
      expiresIn: terms.lifetimeSeconds,
      // A cached session would outlive its end: sign-out and disabling must hold at once.
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
          // Only a right password comes this far, so that the refusal must look like a wrong one.
          before: async ({ userId, userAgent }) => {
            const user = await getUser(db, userId as UserId); // better-auth read it from users.id.
            if (user.isDisabled) throw new APIError("UNAUTHORIZED");
            const now = await readClock(db);
            const expiresAt = new Date(now.getTime() + terms.lifetimeSeconds * 1_000);
            const shortUserAgent = userAgent && redactKeys(userAgent).slice(0, maxUserAgentLength);
            return { data: { createdAt: now, updatedAt: now, expiresAt, userAgent: shortUserAgent } };
          },
        },
      },
    },
    advanced: {
      database: { generateId: () => createId("session") satisfies SessionId },
      useSecureCookies: false,
      // It would believe any caller's X-Forwarded-For.
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
 * Reads sessions in place of better-auth, which goes by the node's clock: it would end sessions early on a node whose
 * clock is ahead, and let them live on where it is behind. And opens a session without a password, for a sign-up.
 */
function sessionEndpoints(db: Db) {
  return {
    id: "latchkey",
    endpoints: {
      findLiveSession: createAuthEndpoint.serverOnly({ method: "GET", requireHeaders: true }, async (ctx) => {
        const { name, attributes } = ctx.context.authCookies.sessionToken;
        const token = await ctx.getSignedCookie(name, ctx.context.secret);
        if (!token) return undefined;
        const session = await findLiveSession(db, token, terms);
        const maxAge = session?.isRenewalDue ? await renewSession(db, token, terms) : undefined;
        if (maxAge !== undefined) {
          await ctx.setSignedCookie(name, token, ctx.context.secret, { ...attributes, maxAge });
        }
        return session?.user satisfies LiveSession["user"] | undefined;
      }),
      openSession: createAuthEndpoint.serverOnly(
        { method: "POST", requireHeaders: true, body: z.strictObject({ userId: z.string() }) },
        async (ctx) => {
          const { internalAdapter } = ctx.context;
          const user = await internalAdapter.findUserById(ctx.body.userId);
          if (!user) throw new Error("A session is opened for a user who is not there.");
          const session = await internalAdapter.createSession(user.id);
          await setSessionCookie(ctx, { session, user });
          return user;
        },
      ),
    },
  } satisfies BetterAuthPlugin;
}
