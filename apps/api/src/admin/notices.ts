import { noticeKinds } from "@latchkey/db/notice-kinds";
import {
  changeNoticeSetting,
  countUnreadNotices,
  listNoticeSettings,
  listNotices,
  markAllNoticesRead,
  markNoticeRead,
} from "@latchkey/db/notices";
import { AppError } from "@latchkey/errors";
import { z } from "zod";
import { noticeId } from "../fields.ts";
import { listQuery, readPage, toPage } from "../lists.ts";
import { presentNotice } from "../presenters/notice.ts";
import { createRouter, sessionProcedure } from "./trpc.ts";

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
      const rows = await ctx.read((db) => listNotices(db, ctx.user.id, { ...readPage(query), isUnread }));
      const page = toPage(rows, query, { present: presentNotice, idOf: ({ id }) => id });
      return { items: page.data, nextCursor: page.nextCursor };
    }),

  /** How many notices are unread, up to 100. */
  unreadCount: sessionProcedure.query(({ ctx }) => ctx.read((db) => countUnreadNotices(db, ctx.user.id))),

  markRead: sessionProcedure.input(z.strictObject({ id: noticeId })).mutation(async ({ ctx, input }) => {
    const isFound = await ctx.transact((trx) => markNoticeRead(trx, ctx.user.id, input.id));
    if (!isFound) throw new AppError("NOT_FOUND", { message: "There is no such notice." });
  }),

  markAllRead: sessionProcedure.mutation(({ ctx }) =>
    ctx.transact((trx) => markAllNoticesRead(trx, ctx.user.id)),
  ),

  /** For each kind, whether the user gets notices in the app and by email. */
  settings: sessionProcedure.query(async ({ ctx }) => ({
    sendsEmail: ctx.instance.sendsEmail,
    kinds: await ctx.read((db) => listNoticeSettings(db, ctx.user.id)),
  })),

  changeSetting: sessionProcedure
    .input(
      z.strictObject({
        kind: z.enum(noticeKinds),
        inApp: z.boolean().optional(),
        byEmail: z.boolean().optional(),
      }),
    )
    .mutation(({ ctx, input: { kind, inApp, byEmail } }) =>
      ctx.transact((trx) => changeNoticeSetting(trx, ctx.user.id, { kind, inApp, byEmail })),
    ),
});
