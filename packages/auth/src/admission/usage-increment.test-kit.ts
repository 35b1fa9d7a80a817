import type { KeyId, UserId } from "@latchkey/db/ids";
import type { UsageIncrement } from "./usage-increment.ts";

const someone = "00000000-0000-7000-8000-000000000000" as UserId;

/** One use of a new key without restrictions, whose owner was never changed. */
export function createIncrement(keyId: KeyId, change: Partial<UsageIncrement> = {}): UsageIncrement {
  return {
    keyId,
    uses: 1,
    version: 1,
    ownerId: someone,
    ownerVersion: 0,
    validUntil: null,
    limit: null,
    ...change,
  };
}
