import type { UserId } from "@latchkey/db/ids";
import { endOldestSessions } from "@latchkey/db/sessions";
import { type BetterAuthOptions, createBetterAuth } from "./better-auth.ts";
import { callBetterAuth } from "./better-auth-call.ts";
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
   * Opens a new session for whoever knows the password, and ends the one that the request's cookie belongs to.
   * @throws {AppError} UNAUTHORIZED for a wrong address or password, or a disabled user: the same for all;
   *   SERVICE_UNAVAILABLE when too many passwords wait to be checked.
   */
  signIn(
    credentials: { readonly email: string; readonly password: string },
    request: { readonly headers: Headers; readonly source: PasswordSource },
  ): Promise<OpenSession>;
  /** Opens a session for a user who has just signed up, and ends the one that the request's cookie belongs to. */
  open(userId: UserId, headers: Headers): Promise<OpenSession>;
  /** Ends the request's session, if it has one. @returns the `Set-Cookie` values that clear the cookie. */
  signOut(headers: Headers): Promise<string[]>;
}

/**
 * People's sessions, kept by better-auth in our tables. Expiry is judged by the database's clock alone, by which
 * sessions begin as well, so that nodes whose clocks differ agree.
 */
export function createSessions(options: SessionsOptions): Sessions {
  const auth = createBetterAuth(options);
  /** The session that the new one replaces goes first, so that it doesn't push out one of another device. */
  const replaceSession = async (
    headers: Headers,
    { user, answered }: { readonly user: SessionUser; readonly answered: Headers },
  ): Promise<OpenSession> => {
    await callBetterAuth(() => auth.api.signOut({ headers }));
    await endOldestSessions(options.db, user.id, options.maxSessionsPerUser);
    return { user, cookies: answered.getSetCookie() };
  };
  return {
    async find(headers) {
      const answer = await callBetterAuth(() => auth.api.findLiveSession({ headers, returnHeaders: true }));
      return answer.response && { user: answer.response, cookies: answer.headers.getSetCookie() };
    },
    async signIn(body, { headers, source }) {
      const call = () => auth.api.signInEmail({ body, headers, returnHeaders: true });
      const { response, headers: answered } = await callBetterAuth(call, source);
      return await replaceSession(headers, { user: pickUser(response.user), answered });
    },
    async open(userId, headers) {
      const call = () => auth.api.openSession({ body: { userId }, headers, returnHeaders: true });
      const { response, headers: answered } = await callBetterAuth(call);
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
