import { listSecurityEvents } from "@latchkey/db/security-events";
import { z } from "zod";
import { listQuery, readPage, toPage } from "../lists.ts";
import { presentSecurityEvent } from "../presenters/security-event.ts";
import { createRouter, sessionProcedure } from "./trpc.ts";

const pageSize = 50;

export const securityLogRouter = createRouter({
  /** A page of the changes to the user's own API keys, newest first. */
  list: sessionProcedure
    .input(z.strictObject({ cursor: listQuery(["occurredAt"]).shape.cursor }))
    .query(async ({ ctx, input: { cursor } }) => {
      const query = { limit: pageSize, sort: "-occurredAt", cursor } as const;
      const rows = await ctx.read((db) => listSecurityEvents(db, ctx.user.id, readPage(query)));
      const page = toPage(rows, query, { present: presentSecurityEvent, idOf: ({ id }) => id });
      return { items: page.data, nextCursor: page.nextCursor };
    }),
});
