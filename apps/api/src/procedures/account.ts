import { encodeId } from "@latchkey/db/ids";
import { listSessions } from "@latchkey/db/sessions";
import { hasVerifiedEmail } from "@latchkey/db/users";
import type { Workspace } from "@latchkey/db/workspaces";
import { AppError } from "@latchkey/errors";
import { passwordLength } from "@latchkey/limits";
import { z } from "zod";
import {
  changeOwnName,
  changePassword,
  confirmPassword,
  endOtherSessions,
  endSession,
  setFirstPassword,
  signOutEverywhere,
} from "../domain/account.ts";
import { deleteAccount, previewDeletion } from "../domain/account-deletion.ts";
import { requestEmailChange } from "../domain/email-change.ts";
import { requestEmailVerification, verifyEmail } from "../domain/email-verification.ts";
import {
  confirmWithOpenid,
  findSignInMethods,
  linkIdentity,
  unlinkIdentity,
} from "../domain/linked-identity.ts";
import { startOpenid } from "../domain/openid-attempts.ts";
import { confirmWithPasskey, startPasskeyConfirmation } from "../domain/passkeys.ts";
import { requireRecentAuthentication } from "../domain/require-recent-authentication.ts";
import { email, factorCode, linkToken, newPassword, personName, sessionId } from "../fields.ts";
import { openidResponse, readEmail } from "../openid-fields.ts";
import { authenticationResponse } from "../passkey-fields.ts";
import { presentListedSession } from "../presenters/session.ts";
import { accountProcedure } from "./account-procedure.ts";
import { readOpenidToken, setOpenidCookie, visitorOf } from "./session.ts";
import { createRouter, sessionProcedure } from "./trpc.ts";

function presentAffected({ id, name, slug }: Workspace) {
  return { id: encodeId("workspace", id), name, slug };
}

/** The user's own account. */
export const accountRouter = createRouter({
  rename: accountProcedure
    .input(z.strictObject({ name: personName }))
    .mutation(async ({ ctx, input: { name } }) => {
      await ctx.transact((trx) => changeOwnName(trx, ctx.edit, name));
      return { name };
    }),

  /** Emails a link to the new email address. The account's email address changes when the user opens the link. */
  requestEmailChange: accountProcedure.input(z.strictObject({ email })).mutation(async ({ ctx, input }) => {
    const { services, user, sessionId, edit, transact } = ctx;
    await requestEmailChange(services, { user, sessionId, origin: edit.origin, transact }, input.email);
    return null;
  }),

  /** Whether the user has shown that they can read email sent to their email address. */
  emailStatus: sessionProcedure.query(async ({ ctx }) => ({
    isVerified: await ctx.read((db) => hasVerifiedEmail(db, ctx.user.id)),
  })),

  /** Emails a link with which the user verifies their email address. */
  requestEmailVerification: accountProcedure.mutation(async ({ ctx }) => {
    const { services, user, sessionId, edit, transact } = ctx;
    await requestEmailVerification(services, { user, sessionId, origin: edit.origin, transact });
    return null;
  }),

  verifyEmail: accountProcedure
    .input(z.strictObject({ token: linkToken }))
    .mutation(
      async ({ ctx, input: { token } }) => await ctx.transact((trx) => verifyEmail(trx, ctx.edit, token)),
    ),

  /** Ends all other sessions. */
  changePassword: accountProcedure
    .input(
      z.strictObject({
        currentPassword: z.string().min(1, "Enter your current password.").max(passwordLength.max),
        newPassword,
      }),
    )
    .mutation(async ({ ctx, input }) => {
      const { services, user, edit, read, transact } = ctx;
      await changePassword(services, { ...edit, user, read, transact }, input, visitorOf(ctx));
      return null;
    }),

  /** Lets the session make sensitive changes for 15 minutes. A user with a second factor also enters a code. */
  confirmPassword: accountProcedure
    .input(
      z.strictObject({
        password: z.string().min(1, "Enter your password.").max(passwordLength.max),
        code: factorCode.optional(),
      }),
    )
    .mutation(async ({ ctx, input }) => {
      const { services, user, sessionId, read, transact } = ctx;
      await confirmPassword(services, { user, sessionId, read, transact }, input, visitorOf(ctx));
      return null;
    }),

  /** What deleting the account does, or why it isn't possible. */
  deletion: sessionProcedure.query(async ({ ctx }) => {
    const preview = await ctx.read((db) =>
      db.transaction().execute((trx) => previewDeletion(trx, ctx.user.id)),
    );
    const { keyCount, lastUsedAt, isNeededOperator } = preview;
    return {
      keyCount,
      lastUsedAt: lastUsedAt?.toISOString() ?? null,
      isNeededOperator,
      deletedWorkspaces: preview.deletedWorkspaces.map(presentAffected),
      blockingWorkspaces: preview.blockingWorkspaces.map(presentAffected),
    };
  }),

  /** Deletes the account with everything that belongs to it. `email` confirms the deletion. */
  delete: accountProcedure.input(z.strictObject({ email })).mutation(async ({ ctx, input }) => {
    const { user, edit, transact } = ctx;
    if (input.email !== user.email) {
      const message = "Enter the email address of your account.";
      throw new AppError("BAD_REQUEST", { issues: [{ path: "email", code: "invalid_value", message }] });
    }
    await deleteAccount({ ...edit, transact });
    ctx.setCookies(await ctx.services.sessions.signOut(ctx.headers));
    ctx.clearSiteData();
    return null;
  }),

  /** Creates the options for a passkey assertion that confirms a sensitive change. */
  startPasskey: accountProcedure.mutation(
    async ({ ctx }) => await startPasskeyConfirmation(ctx.services, ctx),
  ),

  /** Lets the session make sensitive changes for 15 minutes. */
  confirmPasskey: accountProcedure
    .input(z.strictObject({ response: authenticationResponse }))
    .mutation(async ({ ctx, input: { response } }) => {
      await confirmWithPasskey(ctx.services, ctx, response);
      return null;
    }),

  /** How the user can sign in. */
  signInMethods: sessionProcedure.query(async ({ ctx }) => {
    const { hasPassword, openid } = await ctx.read((db) => findSignInMethods(db, ctx.services, ctx.user.id));
    return {
      hasPassword,
      openid: openid && {
        name: openid.name,
        identity: openid.identity && {
          email: openid.identity.email,
          linkedAt: openid.identity.createdAt.toISOString(),
          lastUsedAt: openid.identity.lastUsedAt?.toISOString() ?? null,
        },
      },
    };
  }),

  /** Gives a password to a user who has none. Ends all other sessions. */
  setPassword: accountProcedure.input(z.strictObject({ newPassword })).mutation(async ({ ctx, input }) => {
    const { user, edit, transact } = ctx;
    await setFirstPassword({ ...edit, user, transact }, input.newPassword, visitorOf(ctx));
    return null;
  }),

  /** The URL of the OpenID provider, and a cookie that binds what follows to the browser and the session. */
  startOpenid: accountProcedure
    .input(z.strictObject({ use: z.enum(["link", "confirmation"]) }))
    .mutation(async ({ ctx, input: { use: kind } }) => {
      const use = { kind, sessionId: ctx.sessionId } as const;
      if (kind === "link") requireRecentAuthentication(ctx.edit.origin);
      const access = { ...ctx.services, transact: ctx.transact };
      const { url, token } = await startOpenid(access, use, visitorOf(ctx));
      setOpenidCookie(ctx, token);
      return { url };
    }),

  /** Links the identity at the OpenID provider, which can then be used to sign in. */
  linkOpenid: accountProcedure.input(z.strictObject(openidResponse)).mutation(async ({ ctx, input }) => {
    const attempt = { token: readOpenidToken(ctx), response: input, readEmail };
    await linkIdentity(ctx.services, ctx, attempt, visitorOf(ctx));
    setOpenidCookie(ctx, undefined);
    return null;
  }),

  unlinkOpenid: accountProcedure.mutation(async ({ ctx }) => {
    await ctx.transact((trx) => unlinkIdentity(trx, ctx.services, ctx.edit));
    return null;
  }),

  /** Lets the session make sensitive changes for 15 minutes. A user with a second factor also enters a code. */
  confirmOpenid: accountProcedure
    .input(z.strictObject({ ...openidResponse, factorCode: factorCode.optional() }))
    .mutation(async ({ ctx, input: { factorCode: code, ...response } }) => {
      const attempt = { token: readOpenidToken(ctx), response, factorCode: code };
      await confirmWithOpenid(ctx.services, ctx, attempt, visitorOf(ctx));
      setOpenidCookie(ctx, undefined);
      return null;
    }),

  /** The user's sessions, the current one first, then the last used one. */
  sessions: sessionProcedure.query(async ({ ctx }) => {
    const sessions = await ctx.read((db) => listSessions(db, ctx.user.id));
    return sessions
      .map((session) => ({ ...presentListedSession(session), isCurrent: session.id === ctx.sessionId }))
      .toSorted((one, other) => Number(other.isCurrent) - Number(one.isCurrent));
  }),

  endSession: accountProcedure
    .input(z.strictObject({ id: sessionId }))
    .mutation(async ({ ctx, input: { id } }) => {
      await ctx.transact((trx) => endSession(trx, ctx.edit, id));
      return null;
    }),

  /** Ends all sessions except the current one. */
  endOtherSessions: accountProcedure.mutation(async ({ ctx }) => {
    return { count: await ctx.transact((trx) => endOtherSessions(trx, ctx.edit)) };
  }),

  /** Ends all sessions, including the current one. */
  signOutEverywhere: accountProcedure.mutation(async ({ ctx }) => {
    await ctx.transact((trx) => signOutEverywhere(trx, ctx.edit));
    ctx.setCookies(await ctx.services.sessions.signOut(ctx.headers));
    ctx.clearSiteData();
    return null;
  }),
});
