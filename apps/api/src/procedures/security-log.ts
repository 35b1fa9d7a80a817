import { listSecurityEvents } from "@latchkey/db/security-events";
import { z } from "zod";
import { instant } from "../fields.ts";
import { listQuery, logOrder, pageSize, readPage, toPage } from "../lists.ts";
import { presentSecurityEvent, securityAction } from "../presenters/security-event.ts";
import { createRouter, sessionProcedure } from "./trpc.ts";

export const securityLogRouter = createRouter({
  /** A page of what happened to the user's account and API keys. `to` is the end of the period, which it excludes. */
  list: sessionProcedure
    .input(
      z.strictObject({
        action: securityAction.optional(),
        from: instant.optional(),
        to: instant.optional(),
        cursor: listQuery(["occurredAt"]).shape.cursor,
        sort: logOrder,
        pageSize: pageSize.default(50),
      }),
    )
    .query(async ({ ctx, input: { cursor, sort, pageSize: limit, ...filter } }) => {
      const query = { limit, sort, cursor };
      const listed = { ...readPage(query), filter };
      const rows = await ctx.read((db) => listSecurityEvents(db, ctx.user.id, listed));
      const page = toPage(rows, query, { present: presentSecurityEvent, idOf: ({ id }) => id });
      return { items: page.data, nextCursor: page.nextCursor };
    }),
});
