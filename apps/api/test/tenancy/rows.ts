import type { Db } from "@latchkey/db/schema";
import { sql } from "kysely";
import { escapeLiteral } from "pg";
import { expect } from "vitest";

type Row = Readonly<Record<string, unknown>>;

/** All rows, as JSON, by table. */
type Rows = ReadonlyMap<string, ReadonlySet<string>>;
type RowsByTable = Readonly<Record<string, readonly Row[]>>;

/** The rows that a call removes and adds, by table. A changed row counts as removed and added. */
export interface Effect {
  readonly removed?: RowsByTable;
  readonly added?: RowsByTable;
}

/**
 * The tables that are not compared: the counters and statistics that every request with a key, every verification and every sign-in
 * attempt changes, whether it succeeds or not, and the versions of keys and their owners, which contain nothing of a tenant.
 */
const ignoredTables =
  /^key_(counters|usage_hours|addresses|networks|refusals)$|^workspace_(usage_hours|key_days)$|^keyspace_(usage_(hours|days)|tag_hours)$|^issued_key_rejections$|^(issued_key_uses|throttle_buckets|owner_versions)$/;

/**
 * Databases with the function that returns all rows. It keeps the plan of its statement, because planning takes longer
 * than reading, and each of the hundreds of cases reads all rows three times. No test creates a table.
 */
const preparedDatabases = new WeakMap<Db, Promise<unknown>>();

/** What was read last from each database, and in which snapshot. Each snapshot always shows the same rows. */
const lastReads = new WeakMap<Db, { readonly snapshot: string; readonly rows: Rows }>();

async function prepareReading(owner: Db): Promise<void> {
  const { rows } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = current_schema()`.execute(owner);
  const selections = rows
    .filter(({ name }) => !name.startsWith("kysely_"))
    .map(({ name }) => `select '${name}', row_to_json(t)::text from public."${name}" as t`);
  // In a stable function, all statements use the snapshot of the calling query, which is in the row with an empty table name.
  await sql
    .raw(`
      create schema inspection;
      create function inspection.read_rows(known text) returns table (table_name text, content text)
      language plpgsql stable as $$
      begin
        if pg_current_snapshot()::text = known then return; end if;
        return query ${["select '', pg_current_snapshot()::text", ...selections].join(" union all ")};
      end $$`)
    .execute(owner);
}

/** Reads the rows of all tenants, bypassing row-level security, so that changes to any tenant are found. */
async function readRows(owner: Db): Promise<Rows> {
  const prepared = preparedDatabases.get(owner) ?? prepareReading(owner);
  preparedDatabases.set(owner, prepared);
  await prepared;
  const last = lastReads.get(owner);
  const { rows } = await sql<{ table_name: string; content: string }>`
    select * from inspection.read_rows(${last?.snapshot ?? ""})`.execute(owner);
  // Nothing was committed since then, in any database of the cluster.
  if (last && rows.length === 0) return last.rows;
  const found = new Map<string, Set<string>>();
  for (const { table_name: name, content } of rows) {
    const known = found.get(name);
    if (known) known.add(content);
    else found.set(name, new Set([content]));
  }
  const [snapshot = ""] = found.get("") ?? [];
  found.delete("");
  lastReads.set(owner, { snapshot, rows: found });
  return found;
}

/** The columns of each table that rows are inserted with, which excludes generated ones. */
async function listColumns(owner: Db): Promise<ReadonlyMap<string, string>> {
  const { rows } = await sql<{ name: string; columns: string }>`
    select relname as name, string_agg(quote_ident(attname), ', ' order by attnum) as columns
    from pg_class join pg_attribute on attrelid = pg_class.oid
    where relnamespace = current_schema()::regnamespace and relkind = 'r'
      and attnum > 0 and not attisdropped and attgenerated = ''
    group by relname`.execute(owner);
  return new Map(rows.map(({ name, columns }) => [name, columns]));
}

/** Returns a function that restores all rows as they are now. */
export async function saveRows(owner: Db): Promise<() => Promise<void>> {
  const saved = await readRows(owner);
  const columns = await listColumns(owner);
  return async () => {
    const current = await readRows(owner);
    const statements: string[] = [];
    const insert = (table: string, rows: readonly string[]): void => {
      if (rows.length === 0) return;
      statements.push(`insert into public."${table}" (${columns.get(table)}) overriding system value
        select ${columns.get(table)} from json_populate_recordset(null::public."${table}", ${escapeLiteral(`[${rows}]`)})`);
    };
    const tables = [...new Set([...saved.keys(), ...current.keys()])].map((table) => ({
      table,
      isBackground: ignoredTables.test(table),
      added: subtractRows(current.get(table), saved.get(table)),
      removed: subtractRows(saved.get(table), current.get(table)),
    }));
    const changed = tables.filter(({ added, removed }) => added.length > 0 || removed.length > 0);
    // The app writes these in the background and may have changed any of their rows since they were read. They are first,
    // so that no lock on another table is held while one of them is awaited. No other table refers to them.
    for (const { table } of changed.filter(({ isBackground }) => isBackground)) {
      statements.push(`delete from public."${table}"`);
      insert(table, [...(saved.get(table) ?? [])]);
    }
    for (const { table, added, removed } of changed.filter(({ isBackground }) => !isBackground)) {
      if (added.length > 0)
        statements.push(
          `delete from public."${table}" as t where row_to_json(t)::text in (${added.map(escapeLiteral)})`,
        );
      insert(table, removed);
    }
    // Triggers and foreign keys would make further changes. The statements are sent as one transaction.
    const withoutTriggers = "set local session_replication_role = replica";
    if (statements.length > 0) await sql.raw([withoutTriggers, ...statements].join(";")).execute(owner);
  };
}

/** Expects that a call had exactly this effect. Only the named columns of the rows are compared. */
export function expectEffect(
  { before, after }: { readonly before: Rows; readonly after: Rows },
  effect: Effect,
): void {
  const actual = { removed: subtract(before, after), added: subtract(after, before) };
  expect(actual).toEqual({
    removed: expectRows(actual.removed, effect.removed),
    added: expectRows(actual.added, effect.added),
  });
}

/**
 * Puts the expected rows of each table in the order of the rows that match them, because Postgres returns rows in any
 * order. Those with the most columns are assigned first, so that a row with few columns doesn't take their match.
 */
function expectRows(actual: RowsByTable, expected: RowsByTable = {}): Record<string, readonly unknown[]> {
  return Object.fromEntries(
    Object.entries(expected).map(([table, named]) => {
      const remaining = [...named].sort((a, b) => Object.keys(b).length - Object.keys(a).length);
      const matchers = remaining.map((row) => expect.objectContaining(row));
      const ordered = (actual[table] ?? []).flatMap((row) => {
        const index = matchers.findIndex((matcher) => matcher.asymmetricMatch(row));
        return index < 0 ? [] : matchers.splice(index, 1);
      });
      return [table, [...ordered, ...matchers]];
    }),
  );
}

/** The rows that only `rows` contains, by compared table, without tables that have none. */
function subtract(rows: Rows, others: Rows): RowsByTable {
  const differences = [...rows]
    .filter(([table]) => !ignoredTables.test(table))
    .map(([table, content]) => {
      const only = subtractRows(content, others.get(table));
      return [table, only.map((row) => JSON.parse(row))] as const;
    });
  return Object.fromEntries(differences.filter(([, only]) => only.length > 0));
}

function subtractRows(
  rows: ReadonlySet<string> = new Set(),
  others: ReadonlySet<string> = new Set(),
): readonly string[] {
  return rows === others ? [] : [...rows.difference(others)];
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
