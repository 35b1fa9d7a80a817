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
