import { AsyncLocalStorage } from "node:async_hooks";
import { readClock } from "@latchkey/db/clock";
import { createId, type SessionId, type UserId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import {
  endOldestSessions,
  findLiveSession,
  type LiveSession,
  renewSession,
  type SessionTerms,
} from "@latchkey/db/sessions";
import { getUser } from "@latchkey/db/users";
import { AppError } from "@latchkey/errors";
import { type BetterAuthPlugin, betterAuth } from "better-auth";
import { APIError, createAuthEndpoint } from "better-auth/api";
import {
  hashPassword,
  maxPasswordLength,
  minPasswordLength,
  PasswordQueueFullError,
  verifyPassword,
} from "./password.ts";

export interface SessionsOptions {
  readonly db: Db;
  /** Signs the session cookie; at least 32 random characters. */
  readonly secret: string;
  /** The address that people use; its scheme decides whether cookies are `Secure`. */
  readonly baseUrl: string;
  /** How many sessions a user can have. A sign-in beyond that ends the oldest one. */
  readonly maxSessionsPerUser: number;
}

/** A person who is signed in. */
export interface SessionUser {
  readonly id: UserId;
  readonly email: string;
  readonly name: string;
}

/** A live session, and the `Set-Cookie` values that go with it. */
export interface OpenSession {
  readonly user: SessionUser;
  readonly cookies: string[];
}

export interface Sessions {
  /**
   * Who the request's cookie belongs to, read from the database each time; undefined without a live session.
   * A session that is used is renewed once a day, up to its absolute end: then there are `Set-Cookie` values to answer with.
   */
  find(headers: Headers): Promise<OpenSession | undefined>;
  /**
   * Opens a new session, and ends the one that the request's cookie belongs to.
   * @returns whose it is, and the `Set-Cookie` values to answer with.
   * @throws {AppError} UNAUTHORIZED for a wrong address or password, or a disabled user: the same for all;
   *   SERVICE_UNAVAILABLE when too many sign in at once.
   */
  signIn(
    credentials: { readonly email: string; readonly password: string },
    headers: Headers,
  ): Promise<OpenSession>;
  /** Ends the request's session, if it has one. @returns the `Set-Cookie` values that clear the cookie. */
  signOut(headers: Headers): Promise<string[]>;
}

const secondsPerDay = 86_400;

const terms: SessionTerms = {
  lifetimeSeconds: 14 * secondsPerDay,
  absoluteLifetimeSeconds: 30 * secondsPerDay,
  renewAfterSeconds: secondsPerDay,
};

/** Stored to tell sessions apart in a list, for which this is plenty; in characters. */
const maxUserAgentLength = 256;

/**
 * People's sessions, kept by better-auth in our tables. Expiry is judged by the database's clock alone, by which
 * sessions begin as well, so that nodes whose clocks differ agree.
 */
export function createSessions(options: SessionsOptions): Sessions {
  const auth = createBetterAuth(options);
  return {
    async find(headers) {
      const answer = await translateFailures(() =>
        auth.api.findLiveSession({ headers, returnHeaders: true }),
      );
      return answer.response && { user: answer.response, cookies: answer.headers.getSetCookie() };
    },
    async signIn(body, headers) {
      const answer = await translateFailures(() =>
        auth.api.signInEmail({ body, headers, returnHeaders: true }),
      );
      const user = pickUser(answer.response.user);
      // The session that this one replaces goes first, so that it doesn't push out one of another device.
      await translateFailures(() => auth.api.signOut({ headers }));
      await endOldestSessions(options.db, user.id, options.maxSessionsPerUser);
      return { user, cookies: answer.headers.getSetCookie() };
    },
    async signOut(headers) {
      const answer = await translateFailures(() => auth.api.signOut({ headers, returnHeaders: true }));
      return answer.headers.getSetCookie();
    },
  };
}

function pickUser({ id, email, name }: { id: string; email: string; name: string }): SessionUser {
  return { id: id as UserId, email, name }; // better-auth read it from users.id.
}

function createBetterAuth({ db, secret, baseUrl }: SessionsOptions) {
  const isSecure = baseUrl.startsWith("https:");
  return betterAuth({
    appName: "Latchkey",
    baseURL: baseUrl,
    secret,
    database: { db, type: "postgres", transaction: true },
    plugins: [readByDatabaseClock(db)],
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
        hash: hashPassword,
        verify: ({ hash, password }) => verifyPassword(hash, password),
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
            const shortUserAgent = userAgent?.slice(0, maxUserAgentLength);
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
 * In place of better-auth's own reading of a session, which goes by the node's clock: it would end sessions early on a
 * node whose clock is ahead, and let them live on where it is behind.
 */
function readByDatabaseClock(db: Db) {
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
    },
  } satisfies BetterAuthPlugin;
}

/** What a call to better-auth under way has logged: it keeps to itself what the database said, but for its log. */
const underWay = new AsyncLocalStorage<{ cause?: Error }>();

function keepCause(details: readonly unknown[]): void {
  const call = underWay.getStore();
  const cause = details.find((detail) => detail instanceof Error);
  if (call && cause) call.cause ??= cause;
}

/** Runs a call to better-auth, and throws our own failure for each of its. */
async function translateFailures<Result>(run: () => Promise<Result>): Promise<Result> {
  const call: { cause?: Error } = {};
  try {
    const result = await underWay.run(call, run);
    // It may log a failure and answer as if there had been none: a sign-out whose session lives on.
    if (call.cause) throw call.cause;
    return result;
  } catch (error) {
    if (error instanceof PasswordQueueFullError) {
      throw new AppError("SERVICE_UNAVAILABLE", { cause: error, retryAfterSeconds: 2 });
    }
    if (!(error instanceof APIError)) throw error;
    if (error.status === "UNAUTHORIZED") {
      const message = "The email address or the password is not right.";
      throw new AppError("UNAUTHORIZED", { message, cause: error });
    }
    throw call.cause ?? error;
  }
}
