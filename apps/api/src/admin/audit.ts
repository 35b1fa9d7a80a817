import { listAuditEvents } from "@latchkey/db/audit-events";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { auditFilterInput, toAuditFilter } from "../audit-filter.ts";
import { listQuery, pageSize, readPage, toPage } from "../lists.ts";
import { presentAuditEvent } from "../presenters/audit-event.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

export const auditRouter = createRouter({
  /** A page of the workspace's audit log, newest first. */
  list: workspaceProcedure("audit:read")
    .input(
      workspaceInput({
        ...auditFilterInput,
        cursor: listQuery(["occurredAt"]).shape.cursor,
        pageSize: pageSize.default(50),
      }),
    )
    .query(async ({ ctx: { read, access }, input: { cursor, pageSize: limit, ...filter } }) => {
      const { scope } = access;
      const query = { limit, sort: "-occurredAt", cursor } as const;
      const page = { ...readPage(query), filter: toAuditFilter(filter) };
      const rows = await read((db) => inWorkspace(db, scope, (trx) => listAuditEvents(trx, scope, page)));
      const { data, nextCursor } = toPage(rows, query, { present: presentAuditEvent, idOf: ({ id }) => id });
      return { items: data, nextCursor };
    }),
});
