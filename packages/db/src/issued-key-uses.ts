import { type RawBuilder, sql } from "kysely";

/** The row of `issued_key_uses` of an issued key. */
interface UseRow {
  readonly use_count: number;
  readonly last_used_at: Date | null;
}

/**
 * SQL for the row of `issued_key_uses` of an issued key. Join it with a lateral left join, because a key that isn't in use has none: one
 * lookup then serves {@link usageCountOf} and {@link lastUsedAtOf}. `offset 0` keeps Postgres from reading the whole table.
 * @param counter the alias of `key_counters`.
 */
export function useRowOf(counter: string): RawBuilder<UseRow> {
  return sql`(
    select use_count, last_used_at from issued_key_uses where key_id = ${sql.id(counter, "key_id")} offset 0)`;
}

/**
 * SQL for how often an issued key was used: the sum of its counter and its row of `issued_key_uses`.
 * @param counter the alias of `key_counters`.
 * @param row the alias of {@link useRowOf}.
 */
export function usageCountOf(counter: string, row: string): RawBuilder<number> {
  return sql`(${sql.id(counter, "use_count")} + coalesce(${sql.id(row, "use_count")}, 0))`;
}

/** SQL for when an issued key was last used; null for never. The parameters are those of {@link usageCountOf}. */
export function lastUsedAtOf(counter: string, row: string): RawBuilder<Date | null> {
  return sql`greatest(${sql.id(counter, "last_used_at")}, ${sql.id(row, "last_used_at")})`;
}

/**
 * SQL for a condition that is true, and locks the rows of `issued_key_uses` of keys in the order in which uses are counted. A
 * statement that changes or deletes counters of several issued keys needs it, because its triggers delete the rows in the order in
 * which Postgres visits the counters: without these locks, it could deadlock with a statement that counts. Lock the counters first,
 * because a row is added only while its counter is locked.
 * @param ids SQL for an array of IDs. Those of API keys have no rows.
 */
export function areUsesLocked(ids: RawBuilder<unknown>): RawBuilder<boolean> {
  // A subquery runs once and not for each row.
  return sql`(select lock_issued_key_uses(${ids}))`;
}
