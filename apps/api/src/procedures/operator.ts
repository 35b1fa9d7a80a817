import type { Origin } from "@latchkey/db/audit-actions";
import { decodeId, type UserId } from "@latchkey/db/ids";
import { listInstanceEvents } from "@latchkey/db/instance-events";
import { readInstanceState } from "@latchkey/db/instance-state";
import { countMemberships, countUserOverviews, listUserOverviews } from "@latchkey/db/operator-users";
import { countWorkspaceOverviews, listWorkspaceOverviews } from "@latchkey/db/operator-workspaces";
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
import { countContents, setDisabled } from "../domain/disabled-workspaces.ts";
import { grantOperator, revokeOperator } from "../domain/operators.ts";
import { createResetLinkAsOperator } from "../domain/password-reset.ts";
import { requestOriginOf } from "../domain/sign-in-attempts.ts";
import { instant, searchText, userId, workspaceId } from "../fields.ts";
import { listQuery, logOrder, pageSize, readPage, toPage } from "../lists.ts";
import { instanceAction, presentInstanceEvent } from "../presenters/instance-event.ts";
import { presentInstanceState } from "../presenters/instance-state.ts";
import { presentUserOverview } from "../presenters/user-overview.ts";
import { presentWorkspaceCounts, presentWorkspaceOverview } from "../presenters/workspace-overview.ts";
import { createRouter, sessionProcedure } from "./trpc.ts";

const pageSizeInput = pageSize.default(50);
const userList = listQuery(["createdAt", "name", "email"]).shape;
const workspaceList = listQuery(["createdAt", "name", "slug", "memberCount", "keyCount"]).shape;

/**
 * Needs the operator role, which is checked in the database.
 * @throws {AppError} UNAUTHORIZED without a live session; NOT_FOUND for anyone else, as for a procedure that doesn't exist.
 */
export const operatorProcedure = sessionProcedure.use(async ({ ctx, next }) => {
  const { id } = ctx.user;
  if (!(await ctx.read((db) => isOperator(db, id)))) throw new AppError("NOT_FOUND");
  const { isRecentlyAuthenticated, sessionId } = ctx;
  const actor = {
    kind: "session",
    userId: id,
    sessionId,
    isRecentlyAuthenticated,
    isOperatorAction: true,
  } as const;
  const origin: Origin = { actor, ...requestOriginOf(ctx) };
  /** Counts rows of all tenants, within the user's limit of concurrent reads. */
  const inspect = <Result>(work: (db: Db) => Promise<Result>): Promise<Result> =>
    ctx.reads.run(id, performance.now() + ctx.services.deadlines.queueMs, () => work(ctx.inspectionDb));
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
/** Named `id`, because `workspaceId` names the workspace of a member. */
const workspaceInput = z.strictObject({ id: workspaceId });

/**
 * What operators see and do. They are not members of the workspaces of tenants, and see only names and sizes of tenants
 * here.
 */
export const operatorRouter = createRouter({
  /** A page of the users of the instance, and the number of matches. The search can be an ID. */
  users: operatorProcedure
    .input(
      z.strictObject({
        search: searchText.default(""),
        isDisabled: z.boolean().optional(),
        isOperator: z.boolean().optional(),
        sort: userList.sort,
        cursor: userList.cursor,
        pageSize: pageSizeInput,
      }),
    )
    .query(async ({ ctx, input }) => {
      const { search, isDisabled, isOperator } = input;
      const filter = { search, id: decodeId("user", search), isDisabled, isOperator };
      const query = { ...input, limit: input.pageSize };
      const { rows, total } = await ctx.read(async (db) => ({
        rows: await listUserOverviews(db, { ...readPage(query), filter }),
        total: await countUserOverviews(db, filter),
      }));
      const ids = rows.map(({ id }) => id);
      const workspaceCounts = await ctx.inspect((db) => countMemberships(db, ids));
      const { data, nextCursor } = toPage(rows, query, {
        present: (user) =>
          presentUserOverview({ ...user, workspaceCount: workspaceCounts.get(user.id) ?? 0 }),
        idOf: ({ id }) => id,
      });
      return { items: data, nextCursor, total };
    }),

  /** A page of the workspaces of the instance with their sizes, and the number of matches. The search can be an ID. */
  workspaces: operatorProcedure
    .input(
      z.strictObject({
        search: searchText.default(""),
        isDisabled: z.boolean().optional(),
        sort: workspaceList.sort,
        cursor: workspaceList.cursor,
        pageSize: pageSizeInput,
      }),
    )
    .query(async ({ ctx, input }) => {
      const { search, isDisabled } = input;
      const filter = { search, id: decodeId("workspace", search), isDisabled };
      const query = { ...input, limit: input.pageSize };
      const { rows, total } = await ctx.inspect(async (db) => ({
        rows: await listWorkspaceOverviews(db, { ...readPage(query), filter }),
        total: await countWorkspaceOverviews(db, filter),
      }));
      const { data, nextCursor } = toPage(rows, query, {
        present: presentWorkspaceOverview,
        idOf: ({ id }) => id,
      });
      return { items: data, nextCursor, total };
    }),

  /** What stops working when a workspace is disabled. */
  workspaceReach: operatorProcedure
    .input(workspaceInput)
    .query(
      async ({ ctx, input }) =>
        await ctx.read(async (db) => presentWorkspaceCounts(await countContents(db, input.id))),
    ),

  disableWorkspace: operatorProcedure.input(workspaceInput).mutation(async ({ ctx, input }) => {
    await ctx.transact((trx) => setDisabled(trx, input.id, { isDisabled: true, origin: ctx.origin }));
    return null;
  }),

  enableWorkspace: operatorProcedure.input(workspaceInput).mutation(async ({ ctx, input }) => {
    await ctx.transact((trx) => setDisabled(trx, input.id, { isDisabled: false, origin: ctx.origin }));
    return null;
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

  /** Creates a password reset link. It is shown once. */
  createResetLink: operatorProcedure.input(userInput).mutation(async ({ ctx, input }) => {
    const { baseUrl } = ctx.services;
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

  /** The configuration of this node that concerns users, and the state of the database and of the job queue. */
  instance: operatorProcedure.query(async ({ ctx }) => {
    const { state, responseMs } = await ctx.inspect(async (db) => {
      const startedAt = performance.now();
      const result = await readInstanceState(db);
      return { state: result, responseMs: Math.round(performance.now() - startedAt) };
    });
    return presentInstanceState(ctx.services, state, responseMs);
  }),

  /** A page of the instance log. */
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
        sort: logOrder,
        pageSize: pageSizeInput,
      }),
    )
    .query(async ({ ctx, input }) => {
      const { cursor, sort, pageSize: limit, targetUserId, targetWorkspaceId, ...others } = input;
      const filter = { ...others, userId: targetUserId, workspaceId: targetWorkspaceId };
      const query = { limit, sort, cursor };
      const rows = await ctx.read((db) => listInstanceEvents(db, { ...readPage(query), filter }));
      const { data, nextCursor } = toPage(rows, query, {
        present: presentInstanceEvent,
        idOf: ({ id }) => id,
      });
      return { items: data, nextCursor };
    }),
});
