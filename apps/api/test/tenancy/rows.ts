import type { Db } from "@latchkey/db/schema";
import { sql } from "kysely";
import { expect } from "vitest";

type Row = Readonly<Record<string, unknown>>;

/** Every row of the database, by its table. */
type Rows = ReadonlyMap<string, ReadonlySet<string>>;

/** What a call takes away and what it adds, by table; a row that is changed is gone as it was, and comes as it is. */
export interface Effect {
  readonly gone?: Readonly<Record<string, readonly Row[]>>;
  readonly come?: Readonly<Record<string, readonly Row[]>>;
}

/**
 * The tables that are not compared: those of migrations, and the counters that every use of a key and every sign-in
 * attempt changes, whether it succeeds or not.
 */
const ignoredTables = /^kysely_|^key_(counters|usage_hours|addresses|refusals)$|^throttle_buckets$/;

/** Reads all that there is, past the wall, so that what a call did is found wherever it did it. */
async function readRows(owner: Db): Promise<Rows> {
  const { rows: tables } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = current_schema()`.execute(owner);
  const compared = tables.map(({ name }) => name).filter((name) => !ignoredTables.test(name));
  // One statement for all tables: hundreds of cases read every row twice.
  const selections = compared.map(
    (name) =>
      sql`select ${sql.lit(name)} as name, to_jsonb(held)::text as row from ${sql.table(name)} as held`,
  );
  const { rows: content } = await sql<{ name: string; row: string }>`
    ${sql.join(selections, sql` union all `)}`.execute(owner);
  const found = new Map<string, Set<string>>(compared.map((name) => [name, new Set()]));
  for (const { name, row } of content) found.get(name)?.add(row);
  return found;
}

/** Expects that a call did this and nothing else. Of the rows, what is named is compared. */
export function expectEffect(
  { before, after }: { readonly before: Rows; readonly after: Rows },
  effect: Effect,
): void {
  const expected = (rows: Effect["gone"] = {}) =>
    Object.fromEntries(
      Object.entries(rows).map(([table, named]) => [table, named.map((row) => expect.objectContaining(row))]),
    );
  expect({ gone: subtract(before, after), come: subtract(after, before) }).toEqual({
    gone: expected(effect.gone),
    come: expected(effect.come),
  });
}

/** Whether nothing was taken away and nothing added. */
export function isUnchanged({ before, after }: { readonly before: Rows; readonly after: Rows }): boolean {
  return [subtract(before, after), subtract(after, before)].every((rows) => Object.keys(rows).length === 0);
}

/** The rows that only the first has, of the tables that have any. */
function subtract(rows: Rows, others: Rows): Readonly<Record<string, readonly Row[]>> {
  const rest = [...rows].map(([table, content]) => {
    const only = [...content].filter((row) => !others.get(table)?.has(row));
    return [table, only.map((row) => JSON.parse(row))] as const;
  });
  return Object.fromEntries(rest.filter(([, only]) => only.length > 0));
}

/** Does something, and reads every row before and after it. */
export async function observe<Result>(
  owner: Db,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly before: Rows; readonly after: Rows }> {
  const before = await readRows(owner);
  const result = await work();
  return { result, before, after: await readRows(owner) };
}
