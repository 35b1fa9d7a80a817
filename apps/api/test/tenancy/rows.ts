import type { Db } from "@latchkey/db/schema";
import { sql } from "kysely";
import { expect } from "vitest";

type Row = Readonly<Record<string, unknown>>;

/** All rows of the compared tables, as JSON, by table. */
type Rows = ReadonlyMap<string, ReadonlySet<string>>;

/** The rows that a call removes and adds, by table. A changed row counts as removed and added. */
export interface Effect {
  readonly removed?: Readonly<Record<string, readonly Row[]>>;
  readonly added?: Readonly<Record<string, readonly Row[]>>;
}

/**
 * The tables that are not compared: Kysely's migration tables, and the counters that every request with a key
 * and every sign-in attempt changes, whether it succeeds or not.
 */
const ignoredTables =
  /^kysely_|^key_(counters|usage_hours|addresses|networks|refusals)$|^workspace_(usage_hours|key_days)$|^throttle_buckets$/;

/** The compared tables of each database. No test creates a table. */
const comparedTables = new WeakMap<Db, Promise<readonly string[]>>();

function listComparedTables(owner: Db): Promise<readonly string[]> {
  const known = comparedTables.get(owner);
  if (known) return known;
  const listing = sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = current_schema()`
    .execute(owner)
    .then(({ rows }) => rows.map(({ name }) => name).filter((name) => !ignoredTables.test(name)));
  comparedTables.set(owner, listing);
  return listing;
}

/** Reads the rows of all tenants, bypassing row-level security, so that changes to any tenant are found. */
async function readRows(owner: Db): Promise<Rows> {
  const compared = await listComparedTables(owner);
  // Reads all tables in one statement, because each of the hundreds of cases reads every row twice.
  const selections = compared.map(
    (name) => sql`select ${sql.lit(name)} as name, row_to_json(t)::text as row from ${sql.table(name)} as t`,
  );
  const { rows: content } = await sql<{ name: string; row: string }>`
    ${sql.join(selections, sql` union all `)}`.execute(owner);
  const found = new Map<string, Set<string>>(compared.map((name) => [name, new Set()]));
  for (const { name, row } of content) found.get(name)?.add(row);
  return found;
}

/** Expects that a call had exactly this effect. Only the named columns of the rows are compared. */
export function expectEffect(
  { before, after }: { readonly before: Rows; readonly after: Rows },
  effect: Effect,
): void {
  const expected = (rows: Effect["removed"] = {}) =>
    Object.fromEntries(
      Object.entries(rows).map(([table, named]) => [table, named.map((row) => expect.objectContaining(row))]),
    );
  expect({ removed: subtract(before, after), added: subtract(after, before) }).toEqual({
    removed: expected(effect.removed),
    added: expected(effect.added),
  });
}

/** Whether no row was removed or added. */
export function isUnchanged({ before, after }: { readonly before: Rows; readonly after: Rows }): boolean {
  return [subtract(before, after), subtract(after, before)].every((rows) => Object.keys(rows).length === 0);
}

/** The rows that only `rows` contains, by table, without tables that have none. */
function subtract(rows: Rows, others: Rows): Readonly<Record<string, readonly Row[]>> {
  const differences = [...rows].map(([table, content]) => {
    const only = [...content].filter((row) => !others.get(table)?.has(row));
    return [table, only.map((row) => JSON.parse(row))] as const;
  });
  return Object.fromEntries(differences.filter(([, only]) => only.length > 0));
}

/** Runs `work`, and reads all rows before and after it. */
export async function observe<Result>(
  owner: Db,
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly before: Rows; readonly after: Rows }> {
  const before = await readRows(owner);
  const result = await work();
  return { result, before, after: await readRows(owner) };
}
