import type { LimitState } from "@latchkey/auth/verdict";

/**
 * The headers that tell where a key's limit stands: name, value, name, value.
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export function rateLimitHeaders(limit: LimitState | undefined): readonly string[] {
  if (!limit) return none;
  const { remaining, resetsInSeconds } = limit;
  const { quota, windowSeconds } = limit.limit;
  return [
    "RateLimit",
    `"key";r=${remaining};t=${resetsInSeconds}`,
    "RateLimit-Policy",
    `"key";q=${quota};w=${windowSeconds}`,
  ];
}

const none: readonly string[] = [];
