import { listSecurityEvents } from "@latchkey/db/security-events";
import { z } from "zod";
import { listQuery, pageSize, readPage, toPage } from "../lists.ts";
import { presentSecurityEvent } from "../presenters/security-event.ts";
import { createRouter, sessionProcedure } from "./trpc.ts";

export const securityLogRouter = createRouter({
  /** A page of the changes to the user's own API keys, newest first. */
  list: sessionProcedure
    .input(z.strictObject({ cursor: listQuery(["occurredAt"]).shape.cursor, pageSize: pageSize.default(50) }))
    .query(async ({ ctx, input: { cursor, pageSize: limit } }) => {
      const query = { limit, sort: "-occurredAt", cursor } as const;
      const rows = await ctx.read((db) => listSecurityEvents(db, ctx.user.id, readPage(query)));
      const page = toPage(rows, query, { present: presentSecurityEvent, idOf: ({ id }) => id });
      return { items: page.data, nextCursor: page.nextCursor };
    }),
});
