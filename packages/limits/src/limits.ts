/**
 * The limits that the API enforces and the web app's forms check first: one declaration each, so that they can't differ.
 * Nothing in this file needs Node, so that a browser can load it.
 */

/** How long a text may be, in UTF-16 code units (as `String.length` counts), once it is trimmed. */
export const maxLength = {
  email: 254,
  personName: 100,
  workspaceName: 100,
  workspaceDescription: 500,
  keyName: 100,
  keyDescription: 500,
  search: 100,
} as const;

/** How long a password must and may be, in UTF-16 code units. */
export const passwordLength = { min: 12, max: 128 } as const;

/** What the restrictions of a key may be. */
export const restrictionLimits = {
  /** Entries in a list of workspaces, permissions or IP ranges. */
  maxItems: 100,
  /** Requests per window. */
  maxQuota: 1_000_000_000,
  /** A day. */
  maxWindowSeconds: 86_400,
} as const;

/** How long the former secret of a key may stay valid after a rotation: 30 days. */
export const maxOverlapSeconds = 2_592_000;
