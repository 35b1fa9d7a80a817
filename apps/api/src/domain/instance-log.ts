import type { Details, Origin } from "@latchkey/db/audit-actions";
import {
  appendInstanceEvent,
  canRecordInstanceEvents,
  type InstanceEvent,
  type InstanceEventFilter,
  listInstanceEvents,
} from "@latchkey/db/instance-events";
import type { Position } from "@latchkey/db/page";
import type { Db } from "@latchkey/db/schema";
import type { WorkspaceScope, WorkspaceTrx } from "@latchkey/db/workspace-scope";

/** How many events {@link readInstanceLog} keeps in memory at a time. */
const eventsPerPage = 100;

/** Reads the instance log, newest first, for the operator. */
export async function* readInstanceLog(db: Db, filter: InstanceEventFilter): AsyncGenerator<InstanceEvent> {
  let after: Position | undefined;
  do {
    const page = { direction: "desc", limit: eventsPerPage, after, filter } as const;
    const events = await listInstanceEvents(db, page);
    yield* events;
    const last = events.length === eventsPerPage ? events.at(-1) : undefined;
    after = last && { value: last.position, id: last.id };
  } while (after);
}

/**
 * Records that an operator reads the audit log of a workspace.
 * @param trx a transaction that has entered the workspace.
 */
export async function recordAuditExport(
  trx: WorkspaceTrx,
  { workspaceId }: WorkspaceScope,
  origin: Origin,
  after: Details,
): Promise<void> {
  await appendInstanceEvent(trx, origin, { action: "audit-log.exported", workspaceId, after });
}

/**
 * Records that an operator copies the whole instance. Does nothing in a database that can't hold the event: an empty one, one
 * of a version without an instance log, or a standby.
 * @param db a connection in the login role, because the other roles may be missing.
 */
export async function recordBackup(db: Db, origin: Origin): Promise<void> {
  if (!(await canRecordInstanceEvents(db))) return;
  await db.transaction().execute((trx) => appendInstanceEvent(trx, origin, { action: "backup.created" }));
}

/**
 * Records in a restored instance that it was restored, and from which snapshot.
 * @param db a connection in the login role.
 * @param snapshot.createdAt in ISO 8601.
 */
export async function recordRestore(
  db: Db,
  origin: Origin,
  { createdAt }: { readonly createdAt: string },
): Promise<void> {
  const event = { action: "backup.restored", after: { snapshot: createdAt } } as const;
  await db.transaction().execute((trx) => appendInstanceEvent(trx, origin, event));
}
