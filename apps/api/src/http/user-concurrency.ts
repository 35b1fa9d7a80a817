import { FairSemaphore } from "@latchkey/auth/fair-semaphore";
import type { UserId } from "@latchkey/db/ids";

/**
 * Limits how many changes of one user hold a connection. More of them would wait for each other's row locks and block
 * connections that other users need (docs/decisions/0014).
 * @param maxRunning how many changes run at a time; at most the number of connections for writes, so that no change
 *   waits in the pool, which serves waiting changes in the order of their arrival and isn't fair to users.
 */
export function createChangeSemaphore(maxRunning: number): FairSemaphore<UserId> {
  return new FairSemaphore({ maxRunning, maxRunningPerKey: 2, maxWaitingPerKey: 500 });
}

/**
 * Limits how many reads of one user hold a connection, so that the slowest reads, searches that take a second, leave
 * most connections to other users. Visitors without a session are limited per network. At most as many reads run as there are
 * connections: none waits in the pool, which serves waiting reads in the order of their arrival and isn't fair to users.
 * @returns a semaphore whose keys are IDs of users and networks from `networkOf`.
 */
export function createReadSemaphore(readConnections: number): FairSemaphore<string> {
  return new FairSemaphore({ maxRunning: readConnections, maxRunningPerKey: 2, maxWaitingPerKey: 500 });
}
