import { findAuditActors } from "@latchkey/db/audit-actors";
import { listAuditEvents } from "@latchkey/db/audit-log";
import { previewRetention } from "@latchkey/db/audit-retention";
import { decodeId, encodeId } from "@latchkey/db/ids";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { auditRetentionDays } from "@latchkey/limits";
import { z } from "zod";
import { auditFilterInput, toAuditFilter } from "../audit-filter.ts";
import { searchText } from "../fields.ts";
import { listQuery, logOrder, pageSize, readPage, toPage } from "../lists.ts";
import { presentAuditEvent } from "../presenters/audit-event.ts";
import { presentRetentionPreview } from "../presenters/audit-retention.ts";
import { createRouter, workspaceInput, workspaceProcedure } from "./trpc.ts";

/** How many actors a search returns. */
const maxListedActors = 20;

export const auditRouter = createRouter({
  /** How many events a shorter retention would delete, and when the oldest of them happened.  */
  previewRetention: workspaceProcedure("workspace:delete")
    .input(workspaceInput({ days: z.int().min(auditRetentionDays.min).max(auditRetentionDays.max) }))
    .query(async ({ ctx: { read, access }, input: { days } }) => {
      const { scope } = access;
      return presentRetentionPreview(
        await read((db) => inWorkspace(db, scope, (trx) => previewRetention(trx, scope, days))),
      );
    }),

  /** Members, and all others who have made changes in the workspace. The search can be an ID. */
  actors: workspaceProcedure("audit:read")
    .input(workspaceInput({ search: searchText.default("") }))
    .query(async ({ ctx: { read, access }, input: { search } }) => {
      const { scope } = access;
      const query = { search, id: decodeId("user", search), limit: maxListedActors };
      const actors = await read((db) => inWorkspace(db, scope, (trx) => findAuditActors(trx, scope, query)));
      return actors.map(({ userId, ...actor }) => ({ id: encodeId("user", userId), ...actor }));
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
