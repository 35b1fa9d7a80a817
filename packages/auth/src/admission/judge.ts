import type { KeyId, UserId } from "@latchkey/db/ids";

/** What decides about a key, as it stood in the database at one instant. */
export interface KeyFacts {
  readonly keyId: KeyId;
  readonly userId: UserId;
  /** Moves with every change of the facts; a use is spent only where it is still this. */
  readonly version: number;
  readonly isDeleted: boolean;
  readonly isUserDisabled: boolean;
}

/** Why a key is refused. For logs and for the key's owner; a caller only ever learns that it was. */
export type RefusalReason = "malformed" | "unknown" | "deleted" | "user-disabled";

export type Judgement =
  | { readonly kind: "allowed" }
  | { readonly kind: "refused"; readonly reason: RefusalReason };

/** The one place where the rules live: from facts to a judgement, with no clock, no database, no surprise. */
export function judge(facts: KeyFacts): Judgement {
  if (facts.isDeleted) return { kind: "refused", reason: "deleted" };
  if (facts.isUserDisabled) return { kind: "refused", reason: "user-disabled" };
  return { kind: "allowed" };
}
