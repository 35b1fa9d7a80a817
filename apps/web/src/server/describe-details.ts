import type { Piece } from "../ui/event-sentence.tsx";
import type { AuditEvent } from "./trpc.ts";

/** Describes those details of an event that are in a table, in the order of the table. */
export function listTexts(
  table: Readonly<Record<string, DescribeDetail>>,
  details: AuditEvent["after"],
): readonly Piece[] {
  const texts = Object.entries(table).flatMap(([name, describe]) =>
    details && Object.hasOwn(details, name) ? [describe(details[name])] : [],
  );
  return texts.length === 0 ? [] : [`: ${texts.join("; ")}`];
}

/** A value before or after a change. */
export type Detail = string | number | boolean | null | undefined;
export type DescribeDetail = (value: Detail) => string;

export function text(detail: Detail): string {
  return detail === undefined || detail === null ? "unknown" : String(detail);
}

export function quote(detail: Detail): Piece {
  return { name: `“${text(detail)}”` };
}
