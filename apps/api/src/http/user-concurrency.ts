import { FairSemaphore } from "@latchkey/auth/fair-semaphore";
import type { UserId } from "@latchkey/db/ids";

/**
 * Bounds how many changes of one user hold a connection. More of them would wait for each other's row locks, and keep
 * other users waiting for a connection (docs/decisions/0014).
 */
export function createChangeSemaphore(): FairSemaphore<UserId> {
  return new FairSemaphore({ maxRunningPerKey: 2, maxWaitingPerKey: 500 });
}

/**
 * Bounds how many reads of one user hold a connection, so that the slowest of them, a search of a second, leaves most
 * connections to other users. As many reads run as there are connections: none waits in the pool, which is not fair.
 */
export function createReadSemaphore(readConnections: number): FairSemaphore<UserId> {
  return new FairSemaphore({ maxRunning: readConnections, maxRunningPerKey: 2, maxWaitingPerKey: 500 });
}
