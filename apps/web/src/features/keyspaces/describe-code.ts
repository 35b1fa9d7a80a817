import type { VerificationResult } from "../../server/trpc.ts";

type Code = VerificationResult["code"];

interface CodeDescription {
  readonly explanation: string;
  readonly outcome: "admitted" | "limited" | "rejected" | "unknown";
}

const descriptions = {
  VALID: { explanation: "The key is valid for this request.", outcome: "admitted" },
  NOT_FOUND: {
    explanation:
      "This keyspace has no such key. The key was deleted, belongs to another keyspace, or is incomplete.",
    outcome: "unknown",
  },
  DISABLED: { explanation: "The key, its keyspace or its workspace is disabled.", outcome: "rejected" },
  EXPIRED: {
    explanation: "The key has expired. Change its expiry to make it valid again.",
    outcome: "rejected",
  },
  FORBIDDEN: {
    explanation: "The key has IP ranges, and the IP address is missing or in none of them.",
    outcome: "rejected",
  },
  INSUFFICIENT_PERMISSIONS: {
    explanation: "The key’s permissions don’t satisfy the query.",
    outcome: "rejected",
  },
  RATE_LIMITED: {
    explanation: "The remaining quota of a rate limit is lower than the cost. Nothing was spent.",
    outcome: "limited",
  },
  USAGE_EXCEEDED: {
    explanation: "The key has too few credits for this cost. Nothing was spent.",
    outcome: "rejected",
  },
} as const satisfies Record<Code, CodeDescription>;

export function isCode(text: string): text is Code {
  return Object.hasOwn(descriptions, text);
}

/** What a code of a verification means. */
export function describeCode(code: Code): CodeDescription {
  return descriptions[code];
}
