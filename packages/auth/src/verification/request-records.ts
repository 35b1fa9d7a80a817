import type { FoundKeys, KnownRequest, RequestDecision } from "./decide-request.ts";
import type { EarlierRequest, SpentKey } from "./decide-verification.ts";
import type { StoredSpending } from "./statements.ts";
import type { NamedRequest, VerificationRequest } from "./verification.ts";

// What a batch records about its requests with an `Idempotency-Key`.

/** A request with an `Idempotency-Key`; undefined for one without. A member who verifies without an API key sends none. */
export function toNamedRequest({
  caller,
  name,
}: Pick<FoundKeys, "caller"> & Pick<VerificationRequest, "name">): NamedRequest | undefined {
  return caller && name && { ...name, userId: caller.userId };
}

/** Identifies the stored row of a request with an `Idempotency-Key`. A batch writes each row once, or the statement fails. */
export function nameOf({ userId, method, path, key }: NamedRequest): string {
  return JSON.stringify([userId, method, path, key]);
}

/** Compares a request with an earlier one that has the same name in its batch: it is a retry, or reuses the name. */
export function compare(
  { requestHash, spent }: NamedRequest & StoredSpending,
  later: NamedRequest,
): EarlierRequest {
  return requestHash.equals(later.requestHash) ? { kind: "known", spent } : { kind: "name-reused" };
}

/** What a request and the earlier ones with the same name have spent; undefined if it verified nothing. */
export function listSpent(
  { earlier }: KnownRequest,
  decision: RequestDecision,
): readonly SpentKey[] | undefined {
  if (decision.kind !== "admitted" || decision.outcome.kind !== "verified") return undefined;
  const before = earlier?.kind === "known" ? earlier.spent : [];
  return decision.outcome.results.map(
    (result, index) => before[index] ?? (result.code === "VALID" ? result.key.keyId : null),
  );
}
