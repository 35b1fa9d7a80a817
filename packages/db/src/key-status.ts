import { type RawBuilder, sql } from "kysely";

/** The statuses that keys can be filtered by. A key can have several. */
export const keyStatuses = [
  "active",
  "disabled",
  "expired",
  "expiring",
  "rotating",
  "limited",
  "unused",
] as const;
export type KeyStatus = (typeof keyStatuses)[number];

/** The period that "expiring" and "unused" refer to. */
export const days30 = sql`interval '30 days'`;

/**
 * The beginning of the clock hour before this one, in UTC. Requests are counted by clock hour, so that the time since then
 * is between one and two hours.
 */
export const lastHour = sql`date_trunc('hour', now(), 'UTC') - interval '1 hour'`;

/** SQL for whether a key in `api_keys` has an old secret that is still valid. */
export const isRotating = sql<boolean>`exists (
  select from retired_secrets where key_id = api_keys.id and good_until > clock_timestamp())`;

/**
 * SQL for whether a key in `api_keys` has a status.
 * @param facts conditions that differ between the owner's view and a workspace's view: whether the key or its owner is
 *   disabled, whether a request was rate limited since `lastHour`, and whether the key was used in the last 30 days.
 */
export function hasKeyStatus(
  status: KeyStatus,
  facts: {
    readonly isDisabled: RawBuilder<boolean>;
    readonly isLimited: RawBuilder<boolean>;
    readonly isUsed: RawBuilder<boolean>;
  },
): RawBuilder<boolean> {
  const { isDisabled, isLimited, isUsed } = facts;
  const isExpired = sql<boolean>`coalesce(api_keys.expires_at <= clock_timestamp(), false)`;
  const isActive = sql<boolean>`(not ${isDisabled} and not ${isExpired})`;
  switch (status) {
    case "active":
      return isActive;
    case "disabled":
      return isDisabled;
    case "expired":
      return isExpired;
    case "expiring":
      return sql`(${isActive} and api_keys.expires_at <= clock_timestamp() + ${days30})`;
    case "rotating":
      return isRotating;
    case "limited":
      return isLimited;
    case "unused":
      return sql`(${isActive} and api_keys.created_at < now() - ${days30} and not ${isUsed})`;
    default:
      return status satisfies never;
  }
}
