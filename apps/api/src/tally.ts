/** How often it is written, in milliseconds. */
const everyMs = 1_000;

/**
 * Counts what a caller can cause without bound, so that it cannot flood the log: the first occurrence is written at once,
 * and those after it once a second, with how many there were and the facts of the last one.
 */
export function createTally<Facts extends object>(
  write: (facts: Facts & { readonly count: number }) => void,
): (facts: Facts) => void {
  let count = 0;
  let last: Facts | undefined;
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    timer = undefined;
    if (!last) return;
    write({ ...last, count });
    count = 0;
    last = undefined;
    timer = setTimeout(flush, everyMs).unref();
  };
  return (facts) => {
    count += 1;
    last = facts;
    if (!timer) flush();
  };
}
