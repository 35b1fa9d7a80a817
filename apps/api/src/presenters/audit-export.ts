import type { AuditEvent } from "@latchkey/db/audit-log";
import { toCsvRow } from "../csv.ts";
import { presentAuditEvent } from "./audit-event.ts";

/** The formats of an exported audit log, with the type of each. */
export const exportTypes = {
  csv: "text/csv; charset=utf-8",
  ndjson: "application/x-ndjson; charset=utf-8",
} as const;

export type ExportFormat = keyof typeof exportTypes;

export const exportFormats = Object.keys(exportTypes) as [ExportFormat, ...ExportFormat[]]; // The keys of the table.

type PresentedEvent = ReturnType<typeof presentAuditEvent>;

/**
 * The columns of the CSV file, named after the fields in JSON. New ones are last, so that the others keep their place.
 */
const columns: Readonly<Record<string, (event: PresentedEvent) => string | null>> = {
  id: ({ id }) => id,
  occurredAt: ({ occurredAt }) => occurredAt,
  action: ({ action }) => action,
  "actor.kind": ({ actor }) => actor.kind,
  "actor.userId": ({ actor }) => actor.userId,
  "actor.name": ({ actor }) => actor.name,
  "actor.keyId": ({ actor }) => actor.keyId,
  "target.kind": ({ target }) => target.kind,
  "target.id": ({ target }) => target.id,
  "target.name": ({ target }) => target.name,
  before: ({ before }) => before && JSON.stringify(before),
  after: ({ after }) => after && JSON.stringify(after),
  address: ({ address }) => address,
  requestId: ({ requestId }) => requestId,
  "actor.userKind": ({ actor }) => actor.userKind,
  "target.userKind": ({ target }) => target.userKind,
  "target.owner.id": ({ target }) => target.owner?.id ?? null,
  "target.owner.name": ({ target }) => target.owner?.name ?? null,
  "target.owner.kind": ({ target }) => target.owner?.kind ?? null,
};

/** Formats an audit log while it is read: one chunk of text per page. Every line break ends a record. */
export async function* formatAuditLog(
  pages: AsyncIterable<readonly AuditEvent[]>,
  format: ExportFormat,
): AsyncGenerator<string> {
  let head = format === "csv" ? toCsvRow(Object.keys(columns)) : "";
  for await (const events of pages) {
    yield head + events.map((event) => formatEvent(presentAuditEvent(event), format)).join("");
    head = "";
  }
}

function formatEvent(event: PresentedEvent, format: ExportFormat): string {
  switch (format) {
    case "csv":
      return toCsvRow(Object.values(columns).map((read) => read(event)));
    case "ndjson":
      return `${JSON.stringify(event)}\n`;
    default:
      return format satisfies never;
  }
}

/** The name of the file, such as `audit-log-2026-03-01.csv`. */
export function exportFileName(format: ExportFormat, at: Date): string {
  return `audit-log-${at.toISOString().slice(0, 10)}.${format}`;
}
