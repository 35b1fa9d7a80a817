import { FairSemaphore } from "./fair-semaphore.ts";

/** Who a password comes from, as far as the queue is concerned. */
export interface PasswordSource {
  /** From `networkOf`. */
  readonly network: string;
  /** The device or network that the account has been signed in from before; undefined for a stranger. */
  readonly knownOrigin: string | undefined;
}

/** How long a password may wait, in milliseconds. */
const waitWithinMs = 5_000;
/** Hashing runs on the thread pool and takes 19 MiB; the other threads and cores are for admission. */
const maxRunning = 2;
/** Per network or known origin. Ten take about a fifth of a second on an idle core. */
const maxWaitingPerSource = 10;
/** About two seconds' worth on two busy cores. */
const maxWaiting = 100;

/** Strangers first wait for each other, fairly by network, and take part in the second queue as one. */
const strangers = new FairSemaphore<string>({
  maxRunning,
  maxWaiting,
  maxWaitingPerKey: maxWaitingPerSource,
});
const hashing = new FairSemaphore<string>({ maxRunning, maxWaiting, maxWaitingPerKey: maxWaitingPerSource });

/**
 * Hashes or verifies a password when it is its source's turn. Networks alternate, so that a flood from one delays
 * another network by one hash. Known origins alternate with strangers as a whole, so that no number of strangers delays
 * a user on a known device or network by more than one hash, or keeps them out of the queue.
 * @throws {AppError} SERVICE_UNAVAILABLE with `Retry-After` when too many wait, or after five seconds.
 */
export async function queuePassword<Result>(
  { network, knownOrigin }: PasswordSource,
  task: () => Promise<Result>,
): Promise<Result> {
  const deadline = performance.now() + waitWithinMs;
  if (knownOrigin !== undefined) return await hashing.run(`known ${knownOrigin}`, deadline, task);
  return await strangers.run(network, deadline, () => hashing.run("strangers", deadline, task));
}
