import { type RawBuilder, sql } from "kysely";
import { settledCredits } from "./settled-credits.ts";

/** Why a key is not valid, or `active`. If several reasons apply, the first one of these counts. */
export const issuedKeyStatuses = ["disabled", "expired", "out-of-credits", "active"] as const;
export type IssuedKeyStatus = (typeof issuedKeyStatuses)[number];

/** The statuses that keys can be filtered by. A key that expires soon has one of the statuses above too. */
export const issuedKeyStatusFilters = [...issuedKeyStatuses, "expiring"] as const;
export type IssuedKeyStatusFilter = (typeof issuedKeyStatusFilters)[number];

/**
 * SQL for the balance of a key, as the next use finds it: with a refill that is due.
 * @param key the name by which the query calls the row of the key.
 * @param counter the name by which it calls the row of the key's counter.
 */
export function remainingCreditsOf(key: string, counter: string): RawBuilder<number | null> {
  const refill = sql.ref(`${key}.refill`);
  return settledCredits({
    credits: sql.ref(`${counter}.credits`),
    refilledAt: sql.ref(`${counter}.credits_refilled_at`),
    refill,
    dueAt: sql`latest_refill(${refill}, clock_timestamp())`,
  });
}

/** SQL for whether a key has expired, by the database's clock. */
export function isExpired(key: string): RawBuilder<boolean> {
  return sql<boolean>`coalesce(${sql.ref(`${key}.expires_at`)} <= clock_timestamp(), false)`;
}

/**
 * SQL for the status of a key. A refill never lowers a balance, so that only balances of 0 need the function that computes refills,
 * which takes 0.3 s for 10,000 keys.
 */
export function statusOf(key: string, counter: string): RawBuilder<IssuedKeyStatus> {
  return sql<IssuedKeyStatus>`case
    when ${sql.ref(`${key}.disabled_at`)} is not null then 'disabled'
    when ${isExpired(key)} then 'expired'
    when ${sql.ref(`${counter}.credits`)} = 0 and ${remainingCreditsOf(key, counter)} = 0 then 'out-of-credits'
    else 'active' end`;
}
