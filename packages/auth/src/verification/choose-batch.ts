import type { VerificationRequest } from "./verification.ts";

/** The most verifications in one batch, so that deciding it doesn't block the event loop. */
const maxBatchVerifications = 5_000;

/**
 * Chooses the requests of a batch, at least one. Requests with the same `Idempotency-Key` go into different batches, so that the second one finds what the first one spent.
 * Those on other nodes wait for the same locks.
 */
export function chooseBatch<Request extends Pick<VerificationRequest, "name" | "verifications">>(
  requests: readonly Request[],
): { readonly pending: readonly Request[]; readonly deferred: readonly Request[] } {
  const names = new Set<string>();
  const pending: Request[] = [];
  const deferred: Request[] = [];
  let count = 0;
  for (const request of requests) {
    const name = request.name && `${request.name.path} ${request.name.key}`;
    const isRepeated = name !== undefined && names.has(name);
    if (name !== undefined) names.add(name);
    count += request.verifications.length;
    if (isRepeated || (count > maxBatchVerifications && pending.length > 0)) deferred.push(request);
    else pending.push(request);
  }
  return { pending, deferred };
}
