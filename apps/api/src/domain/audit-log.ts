import { type AuditEvent, type AuditFilter, listAuditEvents } from "@latchkey/db/audit-log";
import type { Position } from "@latchkey/db/page";
import type { Db } from "@latchkey/db/schema";
import { inWorkspace, type WorkspaceScope } from "@latchkey/db/workspace-scope";

/** How many events a page has: they take a few milliseconds to read, and about 200 KB to send. */
const eventsPerPage = 500;

/** The part of an audit log to read. */
export interface AuditLogQuery {
  readonly scope: WorkspaceScope;
  readonly filter: AuditFilter;
}

/**
 * Reads the audit log of a workspace page by page, newest first. Events that are added while it is read are newer than the
 * first page, so they never appear. Between two pages, it holds neither a connection nor one of the user's concurrent reads.
 * @param read runs the reads of one page, as one of the user's concurrent reads.
 * @param requireAccess checks before each page that the caller may still read the log.
 */
export async function* readAuditLog(
  read: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>,
  { scope, filter }: AuditLogQuery,
  requireAccess: (db: Db) => Promise<void>,
): AsyncGenerator<readonly AuditEvent[]> {
  let after: Position | undefined;
  do {
    const page = { sort: "occurredAt", direction: "desc", limit: eventsPerPage, after, filter } as const;
    const events = await read(async (db) => {
      await requireAccess(db);
      return await inWorkspace(db, scope, (trx) => listAuditEvents(trx, scope, page));
    });
    yield events;
    const last = events.length === eventsPerPage ? events.at(-1) : undefined;
    after = last && { value: last.position, id: last.id };
  } while (after);
}
