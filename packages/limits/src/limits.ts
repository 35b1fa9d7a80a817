/**
 * The limits that the API enforces and that the web app's forms check before sending. Each is declared once, so that
 * both always agree. The web app imports this file, so it must not depend on Node.
 */

/**
 * The maximum length of each text after trimming, in characters (Unicode code points), as in JSON Schema and in Postgres. An
 * emoji can consist of several.
 */
export const maxLength = {
  email: 254,
  personName: 100,
  serviceAccountName: 100,
  workspaceName: 100,
  workspaceDescription: 500,
  keyName: 100,
  passkeyName: 100,
  keyDescription: 500,
  webhookUrl: 2_048,
  webhookDescription: 500,
  keyspaceName: 100,
  keyspaceEnvironment: 50,
  keyspacePrefix: 16,
  issuedKeyName: 100,
  /** A prefix, an underscore and 6 characters. */
  issuedKeyStart: 23,
  externalId: 128,
  metaName: 128,
  issuedPermission: 128,
  limitName: 32,
  search: 100,
  /** The title of a notice, which contains at most one name. */
  noticeTitle: 200,
  /** The message of a notice, which contains at most two names. */
  noticeMessage: 1_000,
  /** An `X-Request-Id`. */
  requestId: 128,
  /** 45 characters of an IPv6 address, a percent sign, and 15 characters of a network interface. */
  ipAddress: 61,
  /** 45 characters of an IPv6 address, a slash, and 3 digits. */
  ipRange: 49,
  /** A name that the product defines: a permission, the outcome of a request, a changed value, a version. */
  identifier: 64,
  /** One changed value in an event of the audit log; a longer one is shown shortened. */
  auditValue: 4_096,
  /** The origin of the base URL: a scheme, 253 characters of a host name, and a port. */
  origin: 267,
  /** A URL in a response: an origin with one of the product's paths. */
  url: 400,
} as const;

/** The limits of the JSON body of a request. A request beyond them is rejected as a whole. */
export const requestLimits = {
  /** The largest body, in bytes, both as sent and decompressed. */
  maxBodyBytes: 102_400,
  /**
   * The most fields of an object, far more than any endpoint accepts. Without this limit, thousands of unknown fields would be
   * checked one by one, which would block the event loop.
   */
  maxFields: 1_000,
  /** How deeply objects and lists can be nested under `/open` and in rows of imports. No endpoint needs nearly as many levels. */
  maxDepth: 32,
} as const;

/**
 * The minimum and maximum length of a password, in characters (Unicode code points). There are no rules about which characters it
 * contains.
 */
export const passwordLength = { min: 12, max: 128 } as const;

/** The limits of a key's restrictions. */
export const restrictionLimits = {
  /** The most entries in a list of workspaces, permissions or IP ranges. */
  maxItems: 100,
  /** The largest quota, in requests per window. */
  maxQuota: 1_000_000_000,
  /** The longest window, in seconds: one day. */
  maxWindowSeconds: 86_400,
} as const;

/** The limits of keyspaces, issued keys and consumers. */
export const issuedKeyLimits = {
  /** The most permissions of a key. */
  maxPermissions: 100,
  /** The most named limits of a key or a consumer. */
  maxNamedLimits: 10,
  /** The largest quota of a named limit, in units of cost per window. */
  maxQuota: 1_000_000_000,
  /** The longest window of a named limit, in seconds: 30 days. */
  maxWindowSeconds: 2_592_000,
  /** The largest balance of credits, and the largest refill. */
  maxCredits: 1_000_000_000_000,
  /** 10 years. */
  maxLifetimeDays: 3_650,
  /** The most IP ranges of a key. */
  maxIpRanges: 100,
  /** The longest `meta` of a key, in bytes of JSON. */
  maxMetaBytes: 4_096,
  /** How deep objects and lists in `meta` can be nested. */
  maxMetaDepth: 5,
  /** The most keys of one consumer, so that one request can change all of them. */
  maxKeysPerConsumer: 1_000,
} as const;

/**
 * A permission of an issued key: names separated by periods or colons, `*` for all permissions, or `*` after the last separator
 * for all that start with what precedes it. `AND` and `OR` are the operators of permission queries, which couldn't name them.
 */
export const issuedPermissionPattern =
  /^(?:\*|(?!(?:AND|OR)$)[A-Za-z0-9_-]+(?:[.:][A-Za-z0-9_-]+)*(?:[.:]\*)?)$/;

/** The longest overlap after a rotation, in seconds: 30 days. */
export const maxOverlapSeconds = 2_592_000;

/** The limits of the retention of a workspace's audit log, in days. The minimum leaves time to notice a shorter one. */
export const auditRetentionDays = { min: 30, max: 3_650 } as const;

/** The limits of a workspace's API key policy. */
export const policyLimits = {
  /** 10 years. */
  maxLifetimeDays: 3_650,
  /** Uses are counted by hour, and kept for 90 days by default. */
  maxIdleDays: 90,
} as const;

/** The limits of a request that verifies keys. */
export const verificationLimits = {
  /** The most verifications in one request. */
  maxVerifications: 100,
  /** The longest key, in UTF-16 code units. Imported keys can have any form. */
  maxKeyLength: 512,
  /** The longest text that can be presented as a key, in characters. A body with a longer one is too large. */
  maxPresentedLength: 102_400,
  /** The largest cost. */
  maxCost: 1_000_000_000,
  /** The longest permission query, in characters: 50 of the longest permissions. */
  maxQueryLength: 7_000,
  /** The most verifications with a new `Idempotency-Key` that an API key can request per hour. */
  maxIdempotentPerHour: 1_000_000,
  /** The most tags of a verification. */
  maxTags: 10,
  /** The longest tag. */
  maxTagLength: 64,
} as const;
