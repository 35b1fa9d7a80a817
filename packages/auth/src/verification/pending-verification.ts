import type { PendingState } from "../admission/scheduler.ts";
import type { FoundRequest } from "./find-targets.ts";
import type { PreparedRequest } from "./spend-batch.ts";
import type { VerificationRequest } from "./verification.ts";
import type { VerifierAnswer } from "./verifier-answer.ts";

/** A request to verify keys, or a lookup of the caller's key, without an answer. */
export interface PendingVerification extends PendingState, VerificationRequest {
  /** SHA-256 of the caller's key, in base64; undefined for a caller without a key. */
  readonly digest: string | undefined;
  /** How many keys, with the caller's, were not remembered when the request arrived. */
  readonly lookupCount: number;
  /** Whether the request only looks up the caller's key: it is answered without being counted. */
  readonly isLookupOnly: boolean;
  readonly answer: (answer: VerifierAnswer) => void;
  /** Whether its facts had changed when it was decided. */
  wasOutdated: boolean;
}

/** A pending request with the facts about its keys. */
export type FoundVerification = FoundRequest<PendingVerification> & PreparedRequest;
