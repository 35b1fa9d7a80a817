import type { VerificationRequest } from "./verification.ts";

/** The most verifications in one batch, so that deciding and answering it doesn't block the event loop. */
const maxBatchVerifications = 500;

/** Chooses the requests of a batch, at least one. The others go into later batches. */
export function chooseBatch<Request extends Pick<VerificationRequest, "verifications">>(
  requests: readonly Request[],
): { readonly chosen: readonly Request[]; readonly deferred: readonly Request[] } {
  let count = 0;
  const end = requests.findIndex(({ verifications }, index) => {
    count += verifications.length;
    return count > maxBatchVerifications && index > 0;
  });
  return end < 0
    ? { chosen: requests, deferred: [] }
    : { chosen: requests.slice(0, end), deferred: requests.slice(end) };
}
