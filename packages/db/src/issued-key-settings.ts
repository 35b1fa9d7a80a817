import { type AliasedRawBuilder, sql } from "kysely";

/** A limit of an issued key or a consumer: at most `quota` per window. */
export interface NamedLimit {
  /** Identifies the limit in requests; unique among the limits of the key or consumer. */
  readonly name: string;
  readonly quota: number;
  readonly windowSeconds: number;
  /** Whether the limit applies to every request; otherwise, only to requests that name it. */
  readonly appliesAlways: boolean;
}

/** When the credits of a key are refilled, at midnight UTC. A refill never reduces the balance. */
export interface Refill {
  /** The balance after a refill. */
  readonly amount: number;
  readonly interval: "daily" | "monthly";
  /** The day of the month, from 1 to 31; the last day in shorter months. Null for a daily refill. */
  readonly day: number | null;
}

/** How much a key can still be used, and when that is refilled. */
export interface Credits {
  readonly remaining: number;
  readonly refill: Refill | null;
}

/**
 * What people set on an issued key, except its consumer. The balance of its credits, which uses change too, is in
 * `key_counters`.
 */
export interface IssuedKeySettings {
  readonly name: string;
  /** Data of the workspace's own, which a verification returns. */
  readonly meta: Readonly<Record<string, unknown>>;
  readonly permissions: readonly string[];
  readonly limits: readonly NamedLimit[];
  readonly refill: Refill | null;
  /** Null for never. Compared with the database's clock. */
  readonly expiresAt: Date | null;
  readonly isDisabled: boolean;
  /** The IP ranges that the key may be used from, in CIDR notation; null for any address. */
  readonly ipRanges: readonly string[] | null;
}

export type IssuedSettingName = keyof IssuedKeySettings;

/**
 * The fields by which the API, files, the command and the docs name what people set on a key: its settings, `credits` instead of the
 * refill alone, and its consumer. Each of them has a declaration per field, so that a new setting does not compile without all of
 * them (docs/decisions/0074).
 */
export type IssuedFieldName = Exclude<IssuedSettingName, "refill"> | "credits" | "externalId";

/**
 * How each setting is stored in `issued_keys`: the SQL that reads it from a row that the query calls `key`, and the columns'
 * values. A setting that is not declared here does not compile (docs/decisions/0033).
 */
const storage: {
  readonly [Name in IssuedSettingName]: {
    readonly read: (key: string) => string;
    readonly write: (value: IssuedKeySettings[Name]) => object;
  };
} = {
  name: { read: (key) => `${key}.name`, write: (name) => ({ name }) },
  meta: { read: (key) => `${key}.meta`, write: (meta) => ({ meta: JSON.stringify(meta) }) },
  permissions: { read: (key) => `${key}.permissions`, write: (permissions) => ({ permissions }) },
  limits: { read: (key) => `${key}.limits`, write: (limits) => ({ limits: JSON.stringify(limits) }) },
  refill: {
    read: (key) => `${key}.refill`,
    write: (refill) => ({ refill: refill && JSON.stringify(refill) }),
  },
  expiresAt: { read: (key) => `${key}.expires_at`, write: (time) => ({ expires_at: time }) },
  isDisabled: {
    read: (key) => `(${key}.disabled_at is not null)`,
    // A key that is disabled again keeps the time.
    write: (isDisabled) => ({
      disabled_at: isDisabled ? sql`coalesce(issued_keys.disabled_at, clock_timestamp())` : null,
    }),
  },
  ipRanges: { read: (key) => `${key}.ip_ranges`, write: (ranges) => ({ ip_ranges: ranges }) },
};

export const issuedSettingNames = Object.keys(storage) as readonly IssuedSettingName[]; // The object's keys.

type Selected = {
  [Name in IssuedSettingName]: AliasedRawBuilder<IssuedKeySettings[Name], Name>;
}[IssuedSettingName];

/** Selects a key's settings from `issued_keys`. */
export const selectIssuedSettings = issuedSettingNames.map((name) =>
  sql.raw(storage[name].read("issued_keys")).as(name),
) as Selected[]; // Each item has the type of its name.

/** Settings as columns of `issued_keys`. Settings that are left out keep their value. */
export function toIssuedColumns(settings: Partial<IssuedKeySettings>): object {
  const write = <Name extends IssuedSettingName>(name: Name): object => {
    const value: IssuedKeySettings[Name] | undefined = settings[name];
    return value === undefined ? {} : storage[name].write(value);
  };
  return Object.assign({}, ...issuedSettingNames.map((name) => write(name)));
}
