/** The fields that a row of a file can have: columns of CSV, members of NDJSON. Only `hash` is required. */
export const keyFileFields = [
  "hash",
  "start",
  "name",
  "externalId",
  "permissions",
  "limits",
  "credits",
  "expiresAt",
  "isDisabled",
  "ipRanges",
  "meta",
] as const;

export type KeyFileField = (typeof keyFileFields)[number];
