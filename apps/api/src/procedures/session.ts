import { deviceCookie, readDeviceId } from "@latchkey/auth/known-device";
import { formatOwnCookie, type OwnCookie, readOwnCookie } from "@latchkey/auth/own-cookie";
import type { SessionUser } from "@latchkey/auth/sessions";
import { encodeId } from "@latchkey/db/ids";
import { countUnreadNotices } from "@latchkey/db/notices";
import { isOperator } from "@latchkey/db/operators";
import { asUser } from "@latchkey/db/workspace-scope";
import { listMemberships } from "@latchkey/db/workspaces";
import { passwordLength } from "@latchkey/limits";
import { z } from "zod";
import { confirmEmailChange, previewEmailChange } from "../domain/email-change.ts";
import { openidAttemptSeconds, startOpenid } from "../domain/openid-attempts.ts";
import { challengeSeconds } from "../domain/passkey-challenges.ts";
import { findResetAccount, requestResetLink, resetPassword } from "../domain/password-reset.ts";
import { pendingSignInSeconds } from "../domain/pending-sign-in.ts";
import type { Services } from "../domain/services.ts";
import { type DeviceSession, type SignInResult, signIn, signUp, signUpInvited } from "../domain/sign-in.ts";
import { requestOriginOf, type Visitor } from "../domain/sign-in-attempts.ts";
import { signInWithCode } from "../domain/sign-in-with-code.ts";
import { signInWithOpenid, transactOf } from "../domain/sign-in-with-openid.ts";
import { signInWithPasskey, startPasskeySignIn } from "../domain/sign-in-with-passkey.ts";
import { signOut } from "../domain/sign-out.ts";
import { email, factorCode, linkToken, newPassword, personName } from "../fields.ts";
import { openidResponse, readPerson } from "../openid-fields.ts";
import { authenticationResponse } from "../passkey-fields.ts";
import { accountProcedure } from "./account-procedure.ts";
import { type Context, createRouter, publicInputProcedure, publicProcedure, readAs } from "./trpc.ts";

/** How many workspaces a session has at least, if the user is a member of them; more if the quota is higher. */
const minWorkspaces = 200;

export const sessionRouter = createRouter({
  /** The signed-in user and their workspaces; null without a session. */
  current: publicProcedure.query(async ({ ctx }) => {
    const session = await ctx.services.sessions.find(ctx);
    if (!session) return null;
    ctx.setCookies(session.cookies);
    return await presentSession(ctx, session.user);
  }),

  /** Creates an account with a first workspace, and signs the user in. */
  signUp: publicInputProcedure
    .input(z.strictObject({ name: personName, email, password: newPassword }))
    .mutation(async ({ ctx, input }) => await enter(ctx, await signUp(ctx.services, input, visitorOf(ctx)))),

  /** Creates an account with the email address of an invitation, and accepts the invitation. */
  signUpInvited: publicInputProcedure
    .input(z.strictObject({ token: linkToken, name: personName, password: newPassword }))
    .mutation(async ({ ctx, input }) => {
      const access = { ...ctx.services, read: ctx.read };
      return await enter(ctx, await signUpInvited(access, input, visitorOf(ctx)));
    }),

  /**
   * Signs in a user without a second factor. Otherwise, the response says which factors there are, and a cookie binds the
   * sign-in to the browser until `enterCode` completes it.
   */
  signIn: publicInputProcedure
    .input(
      z.strictObject({ email, password: z.string().min(1, "Enter your password.").max(passwordLength.max) }),
    )
    .mutation(async ({ ctx, input }) => {
      const result = await signIn(ctx.services, input, visitorOf(ctx));
      if (result.kind === "signed-in") return await enter(ctx, result.session);
      return askForFactor(ctx, result);
    }),

  /**
   * What the browser needs to sign in with a passkey, and a cookie that binds it to the browser. As a second factor, only the
   * passkeys of the user whose sign-in is pending are offered.
   */
  startPasskey: publicInputProcedure
    .input(z.strictObject({ isSecondFactor: z.boolean() }))
    .mutation(async ({ ctx, input: { isSecondFactor } }) => {
      const pending = readPendingToken(ctx);
      const visitor = visitorOf(ctx);
      const { options, token } = await startPasskeySignIn(ctx.services, { isSecondFactor, pending }, visitor);
      setOwnCookie(ctx, { name: passkeyCookie, value: token, maxAgeSeconds: challengeSeconds });
      return options;
    }),

  /** Signs in with a passkey, without a password. */
  signInWithPasskey: publicInputProcedure
    .input(z.strictObject({ response: authenticationResponse }))
    .mutation(async ({ ctx, input: { response } }) => {
      const token = readOwnCookie(ctx.headers, passkeyCookie, schemeOf(ctx.services));
      const pending = readPendingToken(ctx);
      const session = await signInWithPasskey(ctx.services, { token, pending, response }, visitorOf(ctx));
      for (const name of [passkeyCookie, pendingCookie])
        setOwnCookie(ctx, { name, value: "", maxAgeSeconds: 0 });
      return await enter(ctx, session);
    }),

  /** Completes a sign-in with a code of the authenticator app, or with a recovery code. */
  enterCode: publicInputProcedure
    .input(z.strictObject({ code: factorCode }))
    .mutation(async ({ ctx, input: { code } }) => {
      const token = readPendingToken(ctx);
      const session = await signInWithCode(ctx.services, { token, code }, visitorOf(ctx));
      setOwnCookie(ctx, { name: pendingCookie, value: "", maxAgeSeconds: 0 });
      return await enter(ctx, session);
    }),

  /** The URL of the OpenID provider, and a cookie that binds the sign-in to the browser. */
  startOpenid: publicProcedure.mutation(async ({ ctx }) => {
    const access = { ...ctx.services, transact: transactOf(ctx.services) };
    const { url, token } = await startOpenid(access, { kind: "sign-in" }, visitorOf(ctx));
    setOpenidCookie(ctx, token);
    return { url };
  }),

  /**
   * Completes a sign-in with the OpenID provider. With `REGISTRATION=invite`, a new user needs an invitation. A user
   * with a second factor is asked for it, as after a password.
   */
  signInWithOpenid: publicInputProcedure
    .input(z.strictObject({ ...openidResponse, invitation: linkToken.optional() }))
    .mutation(async ({ ctx, input: { invitation, ...response } }) => {
      const attempt = { token: readOpenidToken(ctx), response, invitation, readPerson };
      const result = await signInWithOpenid(ctx.services, attempt, visitorOf(ctx));
      setOpenidCookie(ctx, undefined);
      if (result.kind === "signed-in")
        return { session: await enter(ctx, result.session), isNewAccount: result.isNewAccount };
      return askForFactor(ctx, result);
    }),

  /** Emails a password reset link, if the email address has an account. */
  requestResetLink: publicInputProcedure.input(z.strictObject({ email })).mutation(async ({ ctx, input }) => {
    await requestResetLink(ctx.services, input.email, requestOriginOf(ctx));
    return null;
  }),

  /** The account of a password reset link. A mutation, because the URL of a query can be in the log of a proxy. */
  resetAccount: publicInputProcedure
    .input(z.strictObject({ token: linkToken }))
    .mutation(async ({ ctx, input: { token } }) => await ctx.read((db) => findResetAccount(db, token))),

  /** Replaces the password, and ends all sessions of the user. */
  resetPassword: publicInputProcedure
    .input(z.strictObject({ token: linkToken, newPassword }))
    .mutation(async ({ ctx, input }) => {
      await resetPassword(ctx.services, input, requestOriginOf(ctx));
      return null;
    }),

  /** The new email address of a link. A mutation, because the URL of a query can be in the log of a proxy. */
  emailChange: accountProcedure
    .input(z.strictObject({ token: linkToken }))
    .mutation(
      async ({ ctx, input: { token } }) => await ctx.read((db) => previewEmailChange(db, ctx.user.id, token)),
    ),

  /** Changes the email address of the user who requested the link. */
  confirmEmailChange: accountProcedure
    .input(z.strictObject({ token: linkToken }))
    .mutation(async ({ ctx, input: { token } }) => {
      const edit = { ...ctx.edit, deviceId: visitorOf(ctx).deviceId };
      return await ctx.transact((trx) => confirmEmailChange(trx, ctx.services, edit, token));
    }),

  signOut: publicProcedure.mutation(async ({ ctx }) => {
    ctx.setCookies(await signOut(ctx.services, visitorOf(ctx)));
    ctx.clearSiteData();
    return null;
  }),
});

/** The name of the cookie that binds a sign-in to the browser between the password and the second factor. */
const pendingCookie = "latchkey-second-factor";

/** The name of the cookie that binds the challenge for a passkey to the browser. */
const passkeyCookie = "latchkey-passkey";

/** The name of the cookie that binds an attempt to sign in with the OpenID provider to the browser. */
const openidCookie = "latchkey-openid";

/** Sets the cookie of an attempt to sign in with the OpenID provider, or deletes it. */
export function setOpenidCookie(ctx: CookieContext, token: string | undefined): void {
  const maxAgeSeconds = token === undefined ? 0 : openidAttemptSeconds;
  setOwnCookie(ctx, { name: openidCookie, value: token ?? "", maxAgeSeconds });
}

export function readOpenidToken({ headers, services }: VisitorContext): string | undefined {
  return readOwnCookie(headers, openidCookie, schemeOf(services));
}

/** Binds the sign-in to the browser until its second factor. */
function askForFactor(
  ctx: Context,
  { pending, factors }: Extract<SignInResult, { readonly kind: "second-factor-required" }>,
) {
  const { token: value } = pending;
  setOwnCookie(ctx, { name: pendingCookie, value, maxAgeSeconds: pendingSignInSeconds });
  return { secondFactor: factors };
}

function readPendingToken({ headers, services }: Context): string | undefined {
  return readOwnCookie(headers, pendingCookie, schemeOf(services));
}

type CookieContext = Pick<Context, "setCookies"> & VisitorContext;

function setOwnCookie({ setCookies, services }: CookieContext, cookie: OwnCookie): void {
  setCookies([formatOwnCookie(cookie, schemeOf(services))]);
}

/** The caller of a procedure that checks a password. */
export function visitorOf({ address, requestId, headers, services }: VisitorContext): Visitor {
  return { address, requestId, headers, deviceId: readDeviceId(headers, schemeOf(services)) };
}

async function enter(ctx: Context, { user, cookies, deviceId }: DeviceSession) {
  ctx.setCookies([...cookies, deviceCookie(deviceId, schemeOf(ctx.services))]);
  return await presentSession(ctx, user);
}

type VisitorContext = Pick<Context, "address" | "requestId" | "headers"> & {
  readonly services: Pick<Services, "baseUrl">;
};

function schemeOf({ baseUrl }: Pick<Services, "baseUrl">): { readonly isSecure: boolean } {
  return { isSecure: baseUrl.startsWith("https:") };
}

async function presentSession(ctx: Context, user: SessionUser) {
  // The web app opens no other workspaces. A quota that was lowered doesn't end memberships.
  const limit = Math.max(minWorkspaces, ctx.services.quotas.membershipsPerUser);
  const page = { limit, direction: "asc" } as const;
  const { memberships, hasRole, unreadNoticeCount } = await readAs(ctx, user.id, async (db) => ({
    memberships: await asUser(db, user.id, (trx) => listMemberships(trx, user.id, page)),
    hasRole: await isOperator(db, user.id),
    unreadNoticeCount: await countUnreadNotices(db, user.id),
  }));
  return {
    user: { id: encodeId("user", user.id), name: user.name, email: user.email, isOperator: hasRole },
    workspaces: memberships.map(({ id, name, slug, role, disabledAt }) => ({
      id: encodeId("workspace", id),
      name,
      slug,
      role,
      isDisabled: disabledAt !== null,
    })),
    // Part of the session, so that the first load of a page needs no request for the bell.
    unreadNoticeCount,
  };
}
