import type { SessionId, UserId } from "@latchkey/db/ids";
import { endOldestSessions } from "@latchkey/db/sessions";
import { type BetterAuthOptions, createBetterAuth } from "./better-auth.ts";
import { type CredentialCheck, callBetterAuth, SecondFactorRequiredError } from "./better-auth-call.ts";
import type { PasswordSource } from "./password-queue.ts";

export interface SessionsOptions extends BetterAuthOptions {
  /** How many sessions a user can have. A sign-in beyond that ends the oldest one. */
  readonly maxSessionsPerUser: number;
}

/** A person who is signed in. */
export interface SessionUser {
  readonly id: UserId;
  readonly email: string;
  readonly name: string;
}

/** A new session, and the `Set-Cookie` values that go with it. */
export interface OpenSession {
  readonly user: SessionUser;
  readonly cookies: string[];
}

/** The session of a request. */
export interface FoundSession extends OpenSession {
  readonly id: SessionId;
  /** Whether the user has authenticated in the last 15 minutes, by the database's clock. */
  readonly isRecentlyAuthenticated: boolean;
  /** Whether the user proved a second factor, at the sign-in or since. */
  readonly hasSecondFactor: boolean;
}

/** The result of a correct password. */
export type PasswordSignIn =
  | { readonly kind: "opened"; readonly session: OpenSession }
  | ({ readonly kind: "second-factor-required" } & Pick<SecondFactorRequiredError, "userId" | "isCurrent">);

/** A request with or without a session. */
export interface SessionRequest {
  readonly headers: Headers;
  /** The client's IP address; null if it is unknown. */
  readonly address: string | null;
}

export interface Sessions {
  /**
   * Finds the session of the request's cookie. Reads the database every time. Returns undefined without a live
   * session. A session in use is renewed once a day, up to its absolute end, and its `Set-Cookie` values are then
   * returned. The time and IP address of its last use are recorded every five minutes.
   */
  find(request: SessionRequest): Promise<FoundSession | undefined>;
  /**
   * Checks the password, opens a new session, and ends the session of the request's cookie. Opens no session if the user
   * has a second factor, or the password was replaced since it was checked.
   * @throws {AppError} UNAUTHORIZED for a wrong email address or password, or a disabled user, always with the same message;
   *   SERVICE_UNAVAILABLE if too many passwords wait to be checked; TOO_MANY_REQUESTS beyond the user's quota of sign-ins.
   */
  signIn(
    credentials: { readonly email: string; readonly password: string },
    request: SessionRequest & { readonly source: PasswordSource },
  ): Promise<PasswordSignIn>;
  /**
   * Opens a session for a user who has just signed up or proved a second factor, and ends the session of the request's
   * cookie.
   * @param request.authenticatedAt when an identity provider authenticated the user; now by default. Sensitive changes are
   *   allowed for 15 minutes from then.
   * @param request.isCurrent whether what the user proved still exists, such as the passkey. Called with the user locked,
   *   after the session was opened; absent for a new user.
   * @throws {AppError} UNAUTHORIZED if the user is disabled or was deleted, or `isCurrent` returns false; TOO_MANY_REQUESTS
   *   beyond the user's quota of sign-ins.
   * @throws {SecondFactorRequiredError} if the user has a second factor, and `hasSecondFactor` is false.
   */
  open(
    userId: UserId,
    request: SessionRequest & {
      readonly hasSecondFactor?: boolean;
      readonly authenticatedAt?: Date | undefined;
      readonly isCurrent?: CredentialCheck;
    },
  ): Promise<OpenSession>;
  /** Ends the request's session, if it has one. @returns the `Set-Cookie` values that clear the cookie. */
  signOut(headers: Headers): Promise<string[]>;
}

/**
 * Creates the sessions of users, which better-auth stores in Latchkey's tables. Their start and expiry are checked only
 * against the database's clock, so that nodes whose clocks differ agree.
 */
export function createSessions(options: SessionsOptions): Sessions {
  const auth = createBetterAuth(options);
  /** Ends the replaced session before the oldest ones, so that it doesn't displace a session of another device. */
  const replaceSession = async (
    headers: Headers,
    { user, answered }: { readonly user: SessionUser; readonly answered: Headers },
  ): Promise<OpenSession> => {
    await callBetterAuth(() => auth.api.signOut({ headers }));
    await endOldestSessions(options.db, user.id, options.maxSessionsPerUser);
    return { user, cookies: answered.getSetCookie() };
  };
  return {
    async find({ headers, address }) {
      const call = () => auth.api.findLiveSession({ headers, returnHeaders: true });
      const { response: session, headers: answered } = await callBetterAuth(call, { address });
      if (!session) return undefined;
      const { id, user, isRecentlyAuthenticated, hasSecondFactor } = session;
      return { id, user, isRecentlyAuthenticated, hasSecondFactor, cookies: answered.getSetCookie() };
    },
    async signIn(body, { headers, source, address }) {
      const call = () => auth.api.signInEmail({ body, headers, returnHeaders: true });
      try {
        const { response, headers: answered } = await callBetterAuth(call, { source, address });
        const session = await replaceSession(headers, { user: pickUser(response.user), answered });
        return { kind: "opened", session };
      } catch (error) {
        if (!(error instanceof SecondFactorRequiredError)) throw error;
        const { userId, isCurrent } = error;
        return { kind: "second-factor-required", userId, isCurrent };
      }
    },
    async open(userId, { headers, ...origin }) {
      const call = () => auth.api.openSession({ body: { userId }, headers, returnHeaders: true });
      const { response, headers: answered } = await callBetterAuth(call, origin);
      return await replaceSession(headers, { user: pickUser(response), answered });
    },
    async signOut(headers) {
      const answer = await callBetterAuth(() => auth.api.signOut({ headers, returnHeaders: true }));
      return answer.headers.getSetCookie();
    },
  };
}

function pickUser({ id, email, name }: { id: string; email: string; name: string }): SessionUser {
  return { id: id as UserId, email, name }; // better-auth read it from users.id.
}
