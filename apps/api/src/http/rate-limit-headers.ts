import type { Limit } from "@latchkey/auth/judge";
import type { LimitState } from "@latchkey/auth/verdict";

/**
 * The headers that tell where a key's limit stands: name, value, name, value.
 * @see https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
 */
export function rateLimitHeaders(limit: LimitState | undefined): readonly string[] {
  if (!limit) return none;
  const { remaining, resetsInSeconds } = limit;
  return [
    "RateLimit",
    `"key";r=${remaining};t=${resetsInSeconds}`,
    "RateLimit-Policy",
    policyOf(limit.limit),
  ];
}

/** A node has one limit object a key that it remembers. */
const policies = new WeakMap<Limit, string>();

function policyOf(limit: Limit): string {
  const known = policies.get(limit);
  if (known) return known;
  const policy = `"key";q=${limit.quota};w=${limit.windowSeconds}`;
  policies.set(limit, policy);
  return policy;
}

const none: readonly string[] = [];
