import { listAuditEvents } from "@latchkey/db/audit-events";
import { previewRetention } from "@latchkey/db/audit-retention";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { auditRetentionDays } from "@latchkey/limits";
import { z } from "zod";
import { auditFilterInput, toAuditFilter } from "../audit-filter.ts";
import { listQuery, logOrder, pageSize, readPage, toPage } from "../lists.ts";
import { presentAuditEvent } from "../presenters/audit-event.ts";
import { presentRetentionPreview } from "../presenters/audit-retention.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

export const auditRouter = createRouter({
  /** How many events a shorter retention would delete, and since when.  */
  previewRetention: workspaceProcedure("workspace:delete")
    .input(workspaceInput({ days: z.int().min(auditRetentionDays.min).max(auditRetentionDays.max) }))
    .query(async ({ ctx: { read, access }, input: { days } }) => {
      const { scope } = access;
      return presentRetentionPreview(
        await read((db) => inWorkspace(db, scope, (trx) => previewRetention(trx, scope, days))),
      );
    }),

  /** A page of the workspace's audit log. */
  list: workspaceProcedure("audit:read")
    .input(
      workspaceInput({
        ...auditFilterInput,
        cursor: listQuery(["occurredAt"]).shape.cursor,
        sort: logOrder,
        pageSize: pageSize.default(50),
      }),
    )
    .query(async ({ ctx: { read, access }, input: { cursor, sort, pageSize: limit, ...filter } }) => {
      const { scope } = access;
      const query = { limit, sort, cursor };
      const page = { ...readPage(query), filter: toAuditFilter(filter) };
      const rows = await read((db) => inWorkspace(db, scope, (trx) => listAuditEvents(trx, scope, page)));
      const { data, nextCursor } = toPage(rows, query, { present: presentAuditEvent, idOf: ({ id }) => id });
      return { items: data, nextCursor };
    }),
});
