import { FairSemaphore } from "./fair-semaphore.ts";

/** Where a sign-in attempt comes from. The queue alternates between sources. */
export interface PasswordSource {
  /** From `networkOf`. */
  readonly network: string;
  /**
   * The account, and whether it has been signed in from this device or only from this network before. Undefined for any
   * other origin. It doesn't name the device or network, because a user has up to 20 of them, each of which would get its own queue.
   */
  readonly knownOrigin: string | undefined;
}

/** How long a password may wait, in milliseconds. */
const waitWithinMs = 5_000;
/** Hashing runs on the thread pool and takes 19 MiB. The other threads and cores are left for admission. */
const maxRunning = 2;
/** Per network, and per account with known origins. Ten take about a fifth of a second on an idle core. */
const maxWaitingPerSource = 10;
/** From unknown origins. About two seconds of hashing on two busy cores. */
const maxWaiting = 100;

/** The queue of unknown origins, fair by network. All unknown origins together are one source in the second queue. */
const unknownOrigins = new FairSemaphore<string>({
  maxRunning,
  maxWaiting,
  maxWaitingPerKey: maxWaitingPerSource,
});
/**
 * Has no total limit, because ten accounts could use it up and keep all others out. The tasks that wait are limited by the
 * number of accounts, and a task that waits for too many of them fails at its deadline.
 */
const hashing = new FairSemaphore<string>({ maxRunning, maxWaitingPerKey: maxWaitingPerSource });

/**
 * Hashes or verifies a password when it is the turn of its source. Networks alternate, so that a flood of attempts from
 * one network delays another network by one hash. Accounts with known origins alternate with each other and with all
 * unknown origins together. Therefore no number of unknown origins can delay a user on a known device or network by more
 * than one hash, or keep that user out of the queue. Another account can delay that user by one hash on its known devices
 * and one on its known networks, however many it has.
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
