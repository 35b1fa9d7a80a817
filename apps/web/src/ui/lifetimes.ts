/** The lifetimes to choose from, by length in seconds. */
export const lifetimes = {
  "3600": "In 1 hour",
  "86400": "In 24 hours",
  "604800": "In 7 days",
  "2592000": "In 30 days",
  "7776000": "In 90 days",
} as const;
