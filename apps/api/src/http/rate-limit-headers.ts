import type { LimitState } from "@latchkey/auth/verdict";

/**
 * Returns the headers with the state of a key's rate limit: name, value, name, value.
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export function rateLimitHeaders(limit: LimitState | undefined): readonly string[] {
  if (!limit) return noHeaders;
  const { remaining, resetsInSeconds } = limit;
  const { quota, windowSeconds } = limit.limit;
  return [
    "RateLimit",
    `"key";r=${remaining};t=${resetsInSeconds}`,
    "RateLimit-Policy",
    `"key";q=${quota};w=${windowSeconds}`,
  ];
}

const noHeaders: readonly string[] = [];
