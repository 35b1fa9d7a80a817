import { noticeKinds } from "@latchkey/db/notice-kinds";
import { countUnreadNotices, listNoticeSettings, listNotices } from "@latchkey/db/notices";
import { z } from "zod";
import { changeNoticeSetting, markAllAsRead, markAsRead } from "../domain/notices.ts";
import { noticeId } from "../fields.ts";
import { listQuery, readPage, toPage } from "../lists.ts";
import { presentLinkedNotice } from "../presenters/notice.ts";
import { accountProcedure } from "./account-procedure.ts";
import { createRouter, originOf, sessionProcedure } from "./trpc.ts";

const pageSize = 25;

/** The user's own notices. */
export const noticesRouter = createRouter({
  /** A page of the notices, newest first. */
  list: sessionProcedure
    .input(
      z.strictObject({
        isUnread: z.boolean().default(false),
        cursor: listQuery(["createdAt"]).shape.cursor,
      }),
    )
    .query(async ({ ctx, input: { isUnread, cursor } }) => {
      const query = { limit: pageSize, sort: "-createdAt", cursor } as const;
      const filter = { isUnread: isUnread || undefined };
      const rows = await ctx.read((db) => listNotices(db, ctx.user.id, { ...readPage(query), ...filter }));
      const page = toPage(rows, query, { present: presentLinkedNotice, idOf: ({ id }) => id });
      return { items: page.data, nextCursor: page.nextCursor };
    }),

  /** How many notices are unread, up to 100. */
  unreadCount: sessionProcedure.query(({ ctx }) => ctx.read((db) => countUnreadNotices(db, ctx.user.id))),

  markRead: sessionProcedure.input(z.strictObject({ id: noticeId })).mutation(async ({ ctx, input }) => {
    const { id: userId } = ctx.user;
    await ctx.transact((trx) => markAsRead(trx, { userId, origin: originOf(ctx, userId) }, input.id));
  }),

  markAllRead: sessionProcedure.mutation(async ({ ctx }) => {
    const { id: userId } = ctx.user;
    await ctx.transact((trx) => markAllAsRead(trx, { userId, origin: originOf(ctx, userId) }));
  }),

  /** For each kind, whether the user gets notices in the app and by email. */
  settings: sessionProcedure.query(async ({ ctx }) => ({
    sendsEmail: ctx.services.sendsEmail,
    kinds: await ctx.read((db) => listNoticeSettings(db, ctx.user.id)),
  })),

  /** Turning off a notice that may report a stolen secret or password requires recent authentication. */
  changeSetting: accountProcedure
    .input(
      z.strictObject({
        kind: z.enum(noticeKinds),
        inApp: z.boolean().optional(),
        byEmail: z.boolean().optional(),
      }),
    )
    .mutation(({ ctx, input }) => ctx.transact((trx) => changeNoticeSetting(trx, ctx.edit, input))),
});
