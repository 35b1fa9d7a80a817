import { encodeId } from "@latchkey/db/ids";
import { toCsvRow } from "../csv.ts";
import type { usageGroupings } from "../domain/keyspace-usage.ts";
import type { ExportedUsage } from "../domain/usage-export.ts";

type Grouping = (typeof usageGroupings)[number];
type Column = readonly [name: string, read: (usage: ExportedUsage) => string | null];

const start: readonly Column[] = [
  ["startsAt", ({ startsAt }) => startsAt.toISOString()],
  ["keyspaceId", ({ keyspace }) => encodeId("keyspace", keyspace.id)],
  ["keyspaceName", ({ keyspace }) => keyspace.name],
];
const count: Column = ["count", (usage) => String(usage.count)];
const useCount: Column = ["useCount", (usage) => (usage.useCount === null ? null : String(usage.useCount))];
const value = (name: string): Column => [name, (usage) => usage.value];

/** The columns of a CSV file, named after the fields in JSON. New ones are last, so that the others keep their place. */
const columns: Readonly<Record<Grouping, readonly Column[]>> = {
  outcome: [...start, value("outcome"), count],
  key: [...start, value("keyId"), ["name", ({ name }) => name], count, useCount],
  externalId: [...start, value("externalId"), count, useCount],
  tag: [...start, value("tag"), count, useCount],
};

/** Formats usage as CSV while it is read: one chunk of text per part. Every line break ends a row, or is in a quoted cell. */
export async function* formatUsage(
  parts: AsyncIterable<readonly ExportedUsage[]>,
  groupBy: Grouping,
): AsyncGenerator<string> {
  const shown = columns[groupBy];
  let head = toCsvRow(shown.map(([name]) => name));
  for await (const part of parts) {
    yield head + part.map((usage) => toCsvRow(shown.map(([, read]) => read(usage)))).join("");
    head = "";
  }
  // Without keyspaces, there is no part.
  if (head !== "") yield head;
}

/** The name of the file, such as `verifications-by-key-2026-03-01.csv`. */
export function usageFileName(groupBy: Grouping, at: Date): string {
  const names = { outcome: "outcome", key: "key", externalId: "consumer", tag: "tag" } as const;
  return `verifications-by-${names[groupBy]}-${at.toISOString().slice(0, 10)}.csv`;
}
