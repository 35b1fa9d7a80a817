import type { KeyId } from "@latchkey/db/ids";
import type { Limit } from "./judge.ts";
import type { Spent } from "./spend.ts";

/** The uses of one key in a batch, to be counted if its version is still this. */
export interface Ask {
  readonly keyId: KeyId;
  readonly uses: number;
  readonly version: number;
  /** To be counted only before this, by the database's clock and in its words. */
  readonly goodUntil: string | null;
  readonly limit: Limit | null;
}

/** What came of the uses that a statement was to count. */
export interface Counted {
  /** Keys that were not counted: their version has moved, they are over, or their row is gone. */
  readonly uncounted: readonly KeyId[];
  /** For each key with a limit that was. */
  readonly spent: ReadonlyMap<KeyId, Spent>;
}
