import type { VerificationRequest } from "./verification.ts";

/**
 * The most verifications in one batch, so that deciding and answering it doesn't block the event loop. A lookup of
 * a key that isn't remembered counts as one more, so that a batch has at most two thirds as many lookups.
 */
const maxBatchVerifications = 500;
/** How many more verifications each user gets per turn. Small requests are chosen before large ones. */
const perTurn = 10;

/** What a batch is chosen by. */
interface Choosable extends Pick<VerificationRequest, "verifications"> {
  /** The user whose API key the request was made with; another name while that isn't known. */
  readonly callerId: string;
  /** How many keys, with the caller's, were not remembered when the request arrived. */
  readonly lookupCount: number;
}

/** The requests of one user that are not chosen yet, in the order of their arrival. */
interface Waiting<Request> {
  readonly requests: readonly Request[];
  next: number;
  /** How many verifications were chosen. */
  chosen: number;
}

/**
 * Chooses the requests of a batch, at least one. The others go into later batches, in the order of their arrival.
 *
 * Users take turns, so that the requests of one, however many and large they are, don't delay those of others. The oldest request
 * is always chosen, so that each is chosen after finitely many batches.
 */
export function chooseBatch<Request extends Choosable>(
  requests: readonly Request[],
): { readonly chosen: readonly Request[]; readonly deferred: readonly Request[] } {
  const [oldest] = requests;
  if (!oldest || countAll(requests) <= maxBatchVerifications) return { chosen: requests, deferred: [] };
  const users = Map.groupBy(requests, ({ callerId }) => callerId);
  const waiting = new Set(
    [...users.values()].map((ofUser): Waiting<Request> => ({ requests: ofUser, next: 0, chosen: 0 })),
  );
  const chosen = new Set([oldest]);
  let count = sizeOf(oldest);
  for (let budget = perTurn; waiting.size > 0; budget += perTurn) {
    for (const user of waiting) {
      for (;;) {
        const request = user.requests[user.next];
        const size = request ? sizeOf(request) : 0;
        // A user whose next request doesn't fit waits for the next batch, so that its requests keep their order.
        if (!request || count + (chosen.has(request) ? 0 : size) > maxBatchVerifications) {
          waiting.delete(user);
          break;
        }
        if (user.chosen + size > budget) break;
        if (!chosen.has(request)) count += size;
        chosen.add(request);
        user.chosen += size;
        user.next += 1;
      }
    }
  }
  return {
    chosen: requests.filter((request) => chosen.has(request)),
    deferred: requests.filter((request) => !chosen.has(request)),
  };
}

/** The size of a request, in verifications. A request without verifications counts as one. */
function sizeOf({ verifications, lookupCount }: Choosable): number {
  return Math.max(1, verifications.length) + lookupCount;
}

function countAll(requests: readonly Choosable[]): number {
  return requests.reduce((count, request) => count + sizeOf(request), 0);
}
