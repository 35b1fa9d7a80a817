import { hasFactorsIn } from "./second-factors.ts";

/** The requirements of a workspace for the API keys that reach it. */
export interface ApiKeyPolicy {
  /** The longest time from a key's creation or rotation to its expiry; null for any. */
  readonly maxLifetimeDays: number | null;
  readonly isExpiryRequired: boolean;
  readonly areIpRangesRequired: boolean;
  /** How long a key may be unused in the workspace before the workspace rejects it; null for any time. */
  readonly maxIdleDays: number | null;
}

/** The policy of a workspace that has set none. */
export const defaultPolicy: ApiKeyPolicy = {
  maxLifetimeDays: null,
  isExpiryRequired: false,
  areIpRangesRequired: false,
  maxIdleDays: null,
};

/**
 * The rules of a workspace for the keys that reach it, in the order in which they are checked: that their owners have a second
 * factor if the workspace requires one, and those of its policy.
 */
export const policyRules = [
  "second-factor-required",
  "expiry-required",
  "max-lifetime",
  "ip-ranges-required",
  "idle",
] as const;
export type PolicyRule = (typeof policyRules)[number];

/**
 * A key that expires this much later than its policy allows is still allowed, in hours. A key that is created to expire
 * after exactly the maximum lifetime is stored a moment after its expiry was computed.
 */
const toleranceHours = 1;

/** The names by which a query calls the rows that decide whether a policy allows a key. */
interface Rows {
  /** A row of `api_keys`, or one with its `id`, `created_at`, `expires_at` and `ip_ranges`. */
  readonly key: string;
  /** The membership of the key's owner. */
  readonly member: string;
  /** A row of `workspaces`, or one with its `requires_second_factor`. */
  readonly workspace: string;
  /** A row of `api_key_policies`, or nulls. */
  readonly policy: string;
  /** A row of `workspace_key_access`, or nulls. */
  readonly access: string;
}

/**
 * SQL for the first rule of a workspace that a key violates, null for none. Admission, the preview of a policy, lists and
 * forms all use it, so they always agree. It reads second factors only for a workspace that requires one, the clock and the
 * history of uses only for a policy with idle days, and old secrets only for one with a maximum lifetime.
 *
 * What it reads about second factors has triggers that increment the versions of the owners (migration 0037).
 */
export function violatedRule(rows: Rows): string {
  const { key, policy, workspace } = rows;
  return `case
    when ${workspace}.requires_second_factor and ${lacksFactor(rows)} then 'second-factor-required'
    when ${policy}.is_expiry_required and ${key}.expires_at is null then 'expiry-required'
    when ${policy}.max_lifetime_days is not null and coalesce(${key}.expires_at > ${latestExpiry(rows)}, true)
      then 'max-lifetime'
    when ${policy}.are_ip_ranges_required and ${key}.ip_ranges is null then 'ip-ranges-required'
    when ${policy}.max_idle_days is not null and ${idleAt(rows)} <= clock_timestamp() then 'idle' end`;
}

/** SQL for whether a key belongs to a person without a second factor. A service account can't have one, and needs none. */
function lacksFactor({ member }: Rows): string {
  return `not ${hasFactorsIn(`${member}.user_id`)}
      and (select service_workspace_id is null from users where id = ${member}.user_id)`;
}

/** SQL for the latest expiry that the maximum lifetime allows, counted from the creation or the last rotation. */
function latestExpiry({ key, policy }: Rows): string {
  return `greatest(${key}.created_at, (select max(retired_at) from retired_secrets where key_id = ${key}.id))
    + make_interval(hours => ${policy}.max_lifetime_days * 24 + ${toleranceHours})`;
}

/**
 * SQL for when a key becomes idle in a workspace if it isn't used there before; null without a maximum idle time. It counts from the
 * latest of these: the end of the hour of the last use in the workspace, because uses are counted by hour; the creation of
 * the key; the time its owner joined; and the time an admin last unblocked it. A rotation doesn't count, because a key
 * can rotate itself: anyone who found a forgotten key could use it again.
 */
export function idleAt({ key, member, policy, access }: Rows): string {
  return `case when ${policy}.max_idle_days is not null then greatest(
      ${key}.created_at, ${member}.created_at, ${access}.allowed_at,
      (select hour + interval '1 hour' from key_usage_hours
        where workspace_id = ${member}.workspace_id and key_id = ${key}.id and outcome = 'admitted'
        order by hour desc limit 1)
    ) + make_interval(hours => ${policy}.max_idle_days * 24) end`;
}

/**
 * SQL for joins that add the rows `workspace`, `policy` and `access` of a workspace to a query with a `key` and the
 * membership `member` of its owner.
 */
export function policyJoins({ key, member }: Pick<Rows, "key" | "member">): string {
  return `
    join workspaces workspace on workspace.id = ${member}.workspace_id
    left join api_key_policies policy on policy.workspace_id = ${member}.workspace_id
    left join workspace_key_access access on access.workspace_id = ${member}.workspace_id and access.key_id = ${key}.id`;
}

/**
 * Whether `after` allows any key that `before` rejects. Compares each requirement separately, because a stricter
 * requirement doesn't make up for a less strict one.
 */
export function allowsMoreKeys(before: ApiKeyPolicy, after: ApiKeyPolicy): boolean {
  return (
    isHigher(before.maxLifetimeDays, after.maxLifetimeDays) ||
    (before.isExpiryRequired && !after.isExpiryRequired) ||
    (before.areIpRangesRequired && !after.areIpRangesRequired) ||
    isHigher(before.maxIdleDays, after.maxIdleDays)
  );
}

/** Null is the highest limit. */
function isHigher(before: number | null, after: number | null): boolean {
  return before !== null && (after === null || after > before);
}
