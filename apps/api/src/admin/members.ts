import { roles } from "@latchkey/auth/permissions";
import { mayGrant } from "@latchkey/auth/restrictions";
import { encodeId } from "@latchkey/db/ids";
import { countMembers, findSoleOwner, listMembers } from "@latchkey/db/members";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { z } from "zod";
import { changeMemberRole, removeMember } from "../domain/members.ts";
import { role, searchText, userId } from "../fields.ts";
import { listQuery, readPage, toPage } from "../lists.ts";
import { presentMember } from "../presenters/member.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

/** How many members come at once. */
const pageSize = 50;
const order = listQuery(["joinedAt", "name", "email"]).shape;

export const membersRouter = createRouter({
  /**
   * A page of the members, how many match in all, the roles that the user may give, and the only owner who can sign in:
   * that one can neither leave nor get another role.
   */
  list: workspaceProcedure("members:read")
    .input(
      workspaceInput({
        search: searchText.default(""),
        role: role.optional(),
        sort: order.sort,
        cursor: order.cursor,
      }),
    )
    .query(async ({ ctx: { read, access }, input }) => {
      const { scope } = access;
      const filter = { role: input.role, search: input.search };
      const query = { ...input, limit: pageSize };
      return await read((db) =>
        inWorkspace(db, scope, async (trx) => {
          const rows = await listMembers(trx, scope, { ...readPage(query), filter });
          const page = toPage(rows, query, { present: presentMember, idOf: (member) => member.userId });
          const soleOwner = await findSoleOwner(trx, scope);
          return {
            items: page.data,
            nextCursor: page.nextCursor,
            total: await countMembers(trx, scope, filter),
            soleOwnerId: soleOwner === undefined ? null : encodeId("user", soleOwner),
            grantableRoles: roles.filter((granted) => mayGrant(access.role, undefined, granted)),
          };
        }),
      );
    }),

  /** `version` is the one that the edit was made from. */
  changeRole: workspaceProcedure("members:manage")
    .input(workspaceInput({ userId, role, version: z.int32().min(1) }))
    .mutation(async ({ ctx, input: { userId, role, version } }) => {
      const change = { userId, role, versions: [version] };
      const { quotas } = ctx.instance;
      const changed = await ctx.transact((trx) => changeMemberRole(trx, ctx.edit, change, quotas));
      return presentMember(changed);
    }),

  /** Everybody may leave; to remove somebody else takes a role that holds no less than theirs. */
  remove: workspaceProcedure("members:read")
    .input(workspaceInput({ userId }))
    .mutation(async ({ ctx, input: { userId } }) => {
      await ctx.transact((trx) => removeMember(trx, ctx.edit, { userId }));
      return null;
    }),
});
