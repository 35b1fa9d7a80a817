import { roleHasPermission, roles } from "@latchkey/auth/permissions";
import { canGrantRole, canInviteAs } from "@latchkey/auth/restrictions";
import { encodeId } from "@latchkey/db/ids";
import { countMembers, findSoleOwner, listMembers, listMembersWithoutFactor } from "@latchkey/db/members";
import { findUsersWithFactors } from "@latchkey/db/second-factors";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { changeMemberRole, removeMember } from "../domain/members.ts";
import { role, searchText, userId, userKind } from "../fields.ts";
import { listQuery, pageSize, readPage, toPage } from "../lists.ts";
import { presentMember } from "../presenters/member.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

/** How many members without a second factor are listed. */
const maxShown = 20;
const order = listQuery(["joinedAt", "name", "email"]).shape;

export const membersRouter = createRouter({
  /**
   * A page of the members, the number of matches, the roles that the user may grant, those with which the user may
   * invite people, and the only owner who can sign in, if there is only one: that owner can neither leave nor change
   * their role.
   */
  list: workspaceProcedure("members:read")
    .input(
      workspaceInput({
        search: searchText.default(""),
        role: role.optional(),
        kind: userKind.optional(),
        sort: order.sort,
        cursor: order.cursor,
        pageSize: pageSize.default(50),
      }),
    )
    .query(async ({ ctx: { read, access }, input }) => {
      const { scope } = access;
      const filter = { role: input.role, kind: input.kind, search: input.search };
      const query = { ...input, limit: input.pageSize };
      return await read((db) =>
        inWorkspace(db, scope, async (trx) => {
          const rows = await listMembers(trx, scope, { ...readPage(query), filter });
          const page = toPage(rows, query, { present: presentMember, idOf: (member) => member.userId });
          const soleOwner = await findSoleOwner(trx, scope);
          // Only users who can require a second factor see which members have one.
          const canSeeFactors = roleHasPermission(access.role, "workspace:update");
          const userIds = canSeeFactors ? rows.map((row) => row.userId) : [];
          const withFactors = await findUsersWithFactors(trx, userIds);
          return {
            items: page.data.map((item, index) => {
              const id = userIds[index];
              return { ...item, hasSecondFactor: id === undefined ? null : withFactors.has(id) };
            }),
            nextCursor: page.nextCursor,
            total: await countMembers(trx, scope, filter),
            soleOwnerId: soleOwner === undefined ? null : encodeId("user", soleOwner),
            grantableRoles: roles.filter((granted) => canGrantRole(access.role, undefined, granted)),
            invitableRoles: roles.filter((granted) => canInviteAs(access.role, undefined, granted)),
          };
        }),
      );
    }),

  /** The members who would lose access if the workspace required a second factor: their number, and the first of them. */
  withoutSecondFactor: workspaceProcedure("workspace:update")
    .input(workspaceInput({}))
    .query(
      async ({
        ctx: {
          read,
          access: { scope },
        },
      }) => {
        const { total, members } = await read((db) =>
          inWorkspace(db, scope, (trx) => listMembersWithoutFactor(trx, scope, maxShown)),
        );
        return { total, members: members.map(presentMember) };
      },
    ),

  /** `version` is the version that the user edited. */
  changeRole: workspaceProcedure("members:manage")
    .input(workspaceInput({ userId, role, version: z.int32().min(1) }))
    .mutation(async ({ ctx, input: { userId, role, version } }) => {
      const change = { userId, role, versions: [version] };
      const { quotas } = ctx.services;
      const changed = await ctx.transact((trx) => changeMemberRole(trx, ctx.edit, change, quotas));
      return presentMember(changed);
    }),

  /** Every member may leave, also without a second factor that the workspace requires. */
  leave: workspaceProcedure("members:read", { canLackSecondFactor: true })
    .input(workspaceInput({}))
    .mutation(async ({ ctx }) => {
      await ctx.transact((trx) => removeMember(trx, ctx.edit, { userId: ctx.user.id }));
      return null;
    }),

  /** Every member may leave. To remove another member, the user needs every permission of that member's role. */
  remove: workspaceProcedure("members:read")
    .input(workspaceInput({ userId }))
    .mutation(async ({ ctx, input: { userId } }) => {
      await ctx.transact((trx) => removeMember(trx, ctx.edit, { userId }));
      return null;
    }),
});
