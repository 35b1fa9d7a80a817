import { type RawBuilder, sql } from "kysely";

/**
 * SQL for how often an issued key was used: the sum of its counter and its row of `issued_key_uses`.
 * @param counter the alias of `key_counters`.
 */
export function usageCountOf(counter: string): RawBuilder<number> {
  return sql`(${sql.id(counter, "use_count")} + coalesce(
    (select use_count from issued_key_uses where key_id = ${sql.id(counter, "key_id")}), 0))`;
}

/** SQL for when an issued key was last used; null for never. @param counter the alias of `key_counters`. */
export function lastUsedAtOf(counter: string): RawBuilder<Date | null> {
  return sql`greatest(${sql.id(counter, "last_used_at")},
    (select last_used_at from issued_key_uses where key_id = ${sql.id(counter, "key_id")}))`;
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
