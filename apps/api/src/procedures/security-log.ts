import { listSecurityEvents } from "@latchkey/db/security-events";
import { z } from "zod";
import { listQuery, logOrder, pageSize, readPage, toPage } from "../lists.ts";
import { presentSecurityEvent } from "../presenters/security-event.ts";
import { createRouter, sessionProcedure } from "./trpc.ts";

export const securityLogRouter = createRouter({
  /** A page of what happened to the user's account and API keys. */
  list: sessionProcedure
    .input(
      z.strictObject({
        cursor: listQuery(["occurredAt"]).shape.cursor,
        sort: logOrder,
        pageSize: pageSize.default(50),
      }),
    )
    .query(async ({ ctx, input: { cursor, sort, pageSize: limit } }) => {
      const query = { limit, sort, cursor };
      const rows = await ctx.read((db) => listSecurityEvents(db, ctx.user.id, readPage(query)));
      const page = toPage(rows, query, { present: presentSecurityEvent, idOf: ({ id }) => id });
      return { items: page.data, nextCursor: page.nextCursor };
    }),
});
