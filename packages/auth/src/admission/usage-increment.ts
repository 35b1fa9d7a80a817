import type { KeyId, UserId } from "@latchkey/db/ids";
import type { Limit } from "./decision.ts";
import type { LimitOutcome } from "./limit-window.ts";

/** The uses of one key in a batch. They are counted only if the versions of the key and of its owner are still these. */
export interface UsageIncrement {
  readonly keyId: KeyId;
  readonly uses: number;
  readonly version: number;
  readonly ownerId: UserId;
  readonly ownerVersion: number;
  /** They are counted only before this time, by the database's clock; a timestamp in Postgres's own format. */
  readonly validUntil: string | null;
  readonly limit: Limit | null;
}

/** The result of a counting statement. */
export interface CountResult {
  /** Keys that were not counted: their version or that of their owner has changed, they have expired, or their row was deleted. */
  readonly uncounted: readonly KeyId[];
  /** The outcome of each rate limit of a key that was counted. */
  readonly limits: ReadonlyMap<KeyId, LimitOutcome>;
}
