import { listAuditEvents } from "@latchkey/db/audit-events";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { auditFilterInput, toAuditFilter } from "../audit-filter.ts";
import { listQuery, readPage, toPage } from "../lists.ts";
import { presentAuditEvent } from "../presenters/audit-event.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

/** The number of events per page. */
const pageSize = 50;

export const auditRouter = createRouter({
  /** A page of the workspace's audit log, newest first. */
  list: workspaceProcedure("audit:read")
    .input(
      workspaceInput({
        ...auditFilterInput,
        cursor: listQuery(["occurredAt"]).shape.cursor,
      }),
    )
    .query(async ({ ctx: { read, access }, input: { cursor, ...filter } }) => {
      const { scope } = access;
      const query = { limit: pageSize, sort: "-occurredAt", cursor } as const;
      const page = { ...readPage(query), filter: toAuditFilter(filter) };
      const rows = await read((db) => inWorkspace(db, scope, (trx) => listAuditEvents(trx, scope, page)));
      const { data, nextCursor } = toPage(rows, query, { present: presentAuditEvent, idOf: ({ id }) => id });
      return { items: data, nextCursor };
    }),
});
