/** Whole seconds since a time of `performance.now()`, at least one. */
export function secondsSince(start: number): number {
  return Math.max(1, Math.round((performance.now() - start) / 1_000));
}
