import type { Origin } from "@latchkey/db/audit-actions";
import { decodeId, type UserId } from "@latchkey/db/ids";
import { listInstanceEvents } from "@latchkey/db/instance-events";
import { countMemberships, countOperatedUsers, listOperatedUsers } from "@latchkey/db/operator-users";
import { isOperator } from "@latchkey/db/operators";
import type { Db, Trx } from "@latchkey/db/schema";
import { AppError } from "@latchkey/errors";
import { z } from "zod";
import {
  disableAccount,
  enableAccount,
  endAccountSessions,
  getAccount,
  type Transact,
} from "../domain/accounts.ts";
import { grantOperator, revokeOperator } from "../domain/operators.ts";
import { createResetLinkAsOperator } from "../domain/password-reset.ts";
import { instant, searchText, userId, workspaceId } from "../fields.ts";
import { listQuery, readPage, toPage } from "../lists.ts";
import { instanceAction, presentInstanceEvent } from "../presenters/instance-event.ts";
import { presentOperatedUser } from "../presenters/operated-user.ts";
import { createRouter, sessionProcedure, startWithinMs } from "./trpc.ts";

const pageSize = 50;
const userList = listQuery(["createdAt", "name", "email"]).shape;

/**
 * Needs the operator role, which is checked in the database.
 * @throws {AppError} UNAUTHORIZED without a live session; NOT_FOUND for anybody else, as for a procedure that doesn't exist.
 */
export const operatorProcedure = sessionProcedure.use(async ({ ctx, next }) => {
  const { id } = ctx.user;
  if (!(await ctx.read((db) => isOperator(db, id)))) throw new AppError("NOT_FOUND");
  const { address, requestId, isFresh } = ctx;
  const actor = { kind: "session", userId: id, isFresh, asOperator: true } as const;
  const origin: Origin = { actor, address, requestId };
  /** Counts rows of all tenants, within the user's limit of concurrent reads. */
  const inspect = <Result>(work: (db: Db) => Promise<Result>): Promise<Result> =>
    ctx.reads.run(id, performance.now() + startWithinMs, () => work(ctx.inspectionDb));
  return await next({ ctx: { ...ctx, origin, inspect } });
});

/** Runs a change of a user who exists. @throws {AppError} NOT_FOUND */
async function change<Result>(
  { transact }: { readonly transact: Transact },
  id: UserId,
  work: (trx: Trx) => Promise<Result>,
): Promise<Result> {
  return await transact(async (trx) => {
    await getAccount(trx, { id });
    return await work(trx);
  });
}

const userInput = z.strictObject({ userId });

/** What operators see and do. They are not members of the workspaces of tenants, and see no data of tenants here. */
export const operatorRouter = createRouter({
  /** A page of the users of the instance, and the number of matches. The search can be an ID. */
  users: operatorProcedure
    .input(z.strictObject({ search: searchText.default(""), sort: userList.sort, cursor: userList.cursor }))
    .query(async ({ ctx, input }) => {
      const { search } = input;
      const filter = { search, id: decodeId("user", search) };
      const query = { ...input, limit: pageSize };
      const { rows, total } = await ctx.read(async (db) => ({
        rows: await listOperatedUsers(db, { ...readPage(query), filter }),
        total: await countOperatedUsers(db, filter),
      }));
      const ids = rows.map(({ id }) => id);
      const workspaceCounts = await ctx.inspect((db) => countMemberships(db, ids));
      const { data, nextCursor } = toPage(rows, query, {
        present: (user) =>
          presentOperatedUser({ ...user, workspaceCount: workspaceCounts.get(user.id) ?? 0 }),
        idOf: ({ id }) => id,
      });
      return { items: data, nextCursor, total };
    }),

  disableUser: operatorProcedure.input(userInput).mutation(async ({ ctx, input }) => {
    await ctx.read((db) => getAccount(db, { id: input.userId }));
    await disableAccount(ctx.transact, input.userId, ctx.origin);
    return null;
  }),

  enableUser: operatorProcedure.input(userInput).mutation(async ({ ctx, input }) => {
    await change(ctx, input.userId, (trx) => enableAccount(trx, input.userId, ctx.origin));
    return null;
  }),

  /** Ends all sessions of a user. */
  endSessions: operatorProcedure.input(userInput).mutation(async ({ ctx, input }) => {
    const count = await change(ctx, input.userId, (trx) => endAccountSessions(trx, input.userId, ctx.origin));
    return { count };
  }),

  /** Creates a link with which a user can choose a new password. It is shown once. */
  createResetLink: operatorProcedure.input(userInput).mutation(async ({ ctx, input }) => {
    const { baseUrl } = ctx.instance;
    const { url, expiresAt } = await change(ctx, input.userId, (trx) =>
      createResetLinkAsOperator(trx, input.userId, { baseUrl, origin: ctx.origin }),
    );
    return { url, expiresAt: expiresAt.toISOString() };
  }),

  grantRole: operatorProcedure.input(userInput).mutation(async ({ ctx, input }) => {
    await change(ctx, input.userId, (trx) => grantOperator(trx, input.userId, ctx.origin));
    return null;
  }),

  revokeRole: operatorProcedure.input(userInput).mutation(async ({ ctx, input }) => {
    await change(ctx, input.userId, (trx) => revokeOperator(trx, input.userId, ctx.origin));
    return null;
  }),

  /** A page of the instance log, newest first. */
  log: operatorProcedure
    .input(
      z.strictObject({
        action: instanceAction.optional(),
        actorId: userId.optional(),
        targetUserId: userId.optional(),
        targetWorkspaceId: workspaceId.optional(),
        from: instant.optional(),
        to: instant.optional(),
        cursor: listQuery(["occurredAt"]).shape.cursor,
      }),
    )
    .query(async ({ ctx, input: { cursor, targetUserId, targetWorkspaceId, ...others } }) => {
      const filter = { ...others, userId: targetUserId, workspaceId: targetWorkspaceId };
      const query = { limit: pageSize, sort: "-occurredAt", cursor } as const;
      const rows = await ctx.read((db) => listInstanceEvents(db, { ...readPage(query), filter }));
      const { data, nextCursor } = toPage(rows, query, {
        present: presentInstanceEvent,
        idOf: ({ id }) => id,
      });
      return { items: data, nextCursor };
    }),
});
