import { roles } from "@latchkey/auth/permissions";
import { canInviteAs } from "@latchkey/auth/restrictions";
import { encodeId } from "@latchkey/db/ids";
import { countInvitations, invitationStatuses, listInvitations } from "@latchkey/db/invitations";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { acceptInvitation, previewInvitation } from "../domain/accept-invitation.ts";
import { filterByStatus } from "../domain/invitation-status.ts";
import { createInvitation, resendInvitation, revokeInvitation } from "../domain/invitations.ts";
import { managedInvitations } from "../domain/inviting-workspace.ts";
import { requestOriginOf } from "../domain/sign-in-attempts.ts";
import { email, invitationId, linkToken, role, searchText } from "../fields.ts";
import { listQuery, pageSize, readPage, toPage } from "../lists.ts";
import { presentInvitation, presentSentInvitation } from "../presenters/invitation.ts";
import {
  createRouter,
  publicInputProcedure,
  sessionProcedure,
  workspaceInput,
  workspaceProcedure,
} from "./trpc.ts";

const order = listQuery(["createdAt", "email"]).shape;

export const invitationsRouter = createRouter({
  /**
   * A page of the invitations that the user manages, the number of matches, and the roles with which the user may
   * invite people.
   */
  list: workspaceProcedure("members:invite")
    .input(
      workspaceInput({
        search: searchText.default(""),
        status: z.enum(invitationStatuses).optional(),
        sort: order.sort,
        cursor: order.cursor,
        pageSize: pageSize.default(50),
      }),
    )
    .query(async ({ ctx: { read, access }, input }) => {
      const { scope } = access;
      const query = { ...input, limit: input.pageSize };
      const { search, status } = input;
      const filter = { ...managedInvitations(access), search, status: filterByStatus(status) };
      return await read((db) =>
        inWorkspace(db, scope, async (trx) => {
          const rows = await listInvitations(trx, scope, { ...readPage(query), filter });
          const page = toPage(rows, query, { present: presentInvitation, idOf: ({ id }) => id });
          return {
            items: page.data,
            nextCursor: page.nextCursor,
            total: await countInvitations(trx, scope, filter),
            grantableRoles: roles.filter((granted) => canInviteAs(access.role, undefined, granted)),
          };
        }),
      );
    }),

  /** Returns the link, which is shown once. */
  create: workspaceProcedure("members:invite")
    .input(workspaceInput({ email, role }))
    .mutation(async ({ ctx, input: { email, role } }) =>
      presentSentInvitation(
        await ctx.transact((trx) => createInvitation(trx, ctx.edit, { email, role }, ctx.services)),
      ),
    ),

  /** Returns a new link, which is shown once. */
  resend: workspaceProcedure("members:invite")
    .input(workspaceInput({ id: invitationId }))
    .mutation(async ({ ctx, input: { id } }) =>
      presentSentInvitation(await ctx.transact((trx) => resendInvitation(trx, ctx.edit, id, ctx.services))),
    ),

  revoke: workspaceProcedure("members:invite")
    .input(workspaceInput({ id: invitationId }))
    .mutation(async ({ ctx, input: { id } }) => {
      await ctx.transact((trx) => revokeInvitation(trx, ctx.edit, id));
      return null;
    }),

  /** The invitation that a link is for. A mutation, because the URL of a query can be in the log of a proxy. */
  preview: publicInputProcedure
    .input(z.strictObject({ token: linkToken }))
    .mutation(async ({ ctx, input: { token } }) => await ctx.read((db) => previewInvitation(db, token))),

  /** Joins the workspace, with the account of the session. */
  accept: sessionProcedure.input(z.strictObject({ token: linkToken })).mutation(async ({ ctx, input }) => {
    const { services, sessionId } = ctx;
    const invitee = { userId: ctx.user.id, sessionId, ...requestOriginOf(ctx) };
    const joined = await ctx.transact((trx) => acceptInvitation(trx, input.token, invitee, services.quotas));
    // An invitation to a disabled workspace can't be accepted.
    return { ...joined, id: encodeId("workspace", joined.id), isDisabled: false };
  }),
});
