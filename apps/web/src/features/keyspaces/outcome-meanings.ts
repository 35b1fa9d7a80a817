/** What each outcome of a verification means, in the order in which they are checked, those of valid keys first. */
export const outcomeMeanings = [
  ["VALID", "The key was valid and was used."],
  ["CHECKED", "The key was valid but not used: all costs were 0, or the request was a retry."],
  ["DISABLED", "The key, this keyspace or its workspace was disabled."],
  ["EXPIRED", "The key had expired."],
  ["FORBIDDEN", "The key has IP ranges, and the IP address was missing or in none of them."],
  ["INSUFFICIENT_PERMISSIONS", "The key’s permissions didn’t satisfy the query."],
  ["RATE_LIMITED", "The remaining quota of a rate limit was lower than the cost."],
  ["USAGE_EXCEEDED", "The key had too few credits for the cost."],
] as const;
