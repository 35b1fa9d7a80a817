import type { Permission } from "@latchkey/auth/permissions";
import { requireWorkspaceAccess } from "@latchkey/auth/workspace-access";
import { findActingKey, isUserActing } from "@latchkey/db/acting";
import type { Origin } from "@latchkey/db/audit-actions";
import { type AuditEvent, type AuditFilter, listAuditEvents } from "@latchkey/db/audit-events";
import type { SessionId } from "@latchkey/db/ids";
import type { Position } from "@latchkey/db/page";
import type { Db } from "@latchkey/db/schema";
import { isSessionLive } from "@latchkey/db/sessions";
import { inWorkspace, type WorkspaceScope } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import { requireKeyAllows } from "./workspaces.ts";

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

const permission: Permission = "audit:read";

/**
 * Checks, based on the current data, that a person or a key may still read the audit log, because an export can take longer
 * than a change to a role, a session or a key.
 * @param caller.session the session of a person. A key needs no second factor.
 * @throws {AppError} FORBIDDEN
 */
export async function requireAuditAccess(
  db: Db,
  scope: WorkspaceScope,
  {
    actor,
    address,
    session,
  }: Pick<Origin, "actor" | "address"> & {
    readonly session?: { readonly id: SessionId; readonly hasSecondFactor: boolean };
  },
): Promise<void> {
  if (actor.kind === "command") return;
  const hasSecondFactor = session?.hasSecondFactor ?? actor.kind === "key";
  const { workspaceId } = scope;
  await requireWorkspaceAccess(db, { userId: actor.userId, workspaceId, hasSecondFactor }, permission);
  if (!(await isUserActing(db, actor.userId))) throw new AppError("FORBIDDEN");
  if (session && !(await isSessionLive(db, session.id))) throw new AppError("FORBIDDEN");
  if (actor.kind !== "key") return;
  const settings = await findActingKey(db, actor);
  if (!settings) throw new AppError("FORBIDDEN");
  const requirement = { scope, permission } as const;
  await inWorkspace(db, scope, (trx) =>
    requireKeyAllows(trx, { keyId: actor.keyId, settings }, { address, requirement }),
  );
}
