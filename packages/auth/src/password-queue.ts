import { FairSemaphore } from "./fair-semaphore.ts";

/** Where a sign-in attempt comes from. The queue alternates between sources. */
export interface PasswordSource {
  /** From `networkOf`. */
  readonly network: string;
  /** The device or network that the account has been signed in from before; undefined for any other. */
  readonly knownOrigin: string | undefined;
}

/** How long a password may wait, in milliseconds. */
const waitWithinMs = 5_000;
/** Hashing runs on the thread pool and takes 19 MiB. The other threads and cores are left for admission. */
const maxRunning = 2;
/** Per network or known origin. Ten take about a fifth of a second on an idle core. */
const maxWaitingPerSource = 10;
/** About two seconds of hashing on two busy cores. */
const maxWaiting = 100;

/** The queue of unknown origins, fair by network. All unknown origins together are one source in the second queue. */
const unknownOrigins = new FairSemaphore<string>({
  maxRunning,
  maxWaiting,
  maxWaitingPerKey: maxWaitingPerSource,
});
const hashing = new FairSemaphore<string>({ maxRunning, maxWaiting, maxWaitingPerKey: maxWaitingPerSource });

/**
 * Hashes or verifies a password when it is the turn of its source. Networks alternate, so that a flood of attempts from
 * one network delays another network by one hash. Known origins alternate with all unknown origins together. Therefore
 * no number of unknown origins can delay a user on a known device or network by more than one hash, or keep that user
 * out of the queue.
 * @throws {AppError} SERVICE_UNAVAILABLE with `Retry-After` if too many passwords wait, or after five seconds.
 */
export async function queuePassword<Result>(
  { network, knownOrigin }: PasswordSource,
  task: () => Promise<Result>,
): Promise<Result> {
  const deadline = performance.now() + waitWithinMs;
  if (knownOrigin !== undefined) return await hashing.run(`known ${knownOrigin}`, deadline, task);
  return await unknownOrigins.run(network, deadline, () => hashing.run("unknown origins", deadline, task));
}
