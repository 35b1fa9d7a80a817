import { setTimeout as delay } from "node:timers/promises";

/** The pause between two measurements, in milliseconds. */
const pauseMs = 20;

/**
 * Repeats a request that waits for nothing until the returned function is called, which returns the duration of the
 * slowest one, in milliseconds. A busy machine delays other responses by as much.
 */
export function measureSlowest(request: () => Promise<unknown>): () => Promise<number> {
  let [isStopped, slowestMs] = [false, 0];
  const watched = (async () => {
    while (!isStopped) {
      const startedAt = performance.now();
      await delay(pauseMs);
      await request();
      // The pause is included, so that a delay during the pause counts too.
      slowestMs = Math.max(slowestMs, performance.now() - startedAt - pauseMs);
    }
  })();
  // A test that fails earlier doesn't await it, and the server that it requests then stops.
  watched.catch(() => undefined);
  return async () => {
    isStopped = true;
    await watched;
    return slowestMs;
  };
}
