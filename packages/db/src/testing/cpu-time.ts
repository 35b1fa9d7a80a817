/**
 * Measures the processor time of this thread, in milliseconds, that `run` takes in the cheapest of five attempts.
 * Other processes don't add to it, and the cheapest attempt includes neither compilation nor a garbage collection.
 */
export async function measureLeastCpuMs(run: () => unknown): Promise<number> {
  let leastMs = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const before = process.threadCpuUsage();
    await run();
    const { user, system } = process.threadCpuUsage(before);
    leastMs = Math.min(leastMs, (user + system) / 1_000);
  }
  return leastMs;
}
