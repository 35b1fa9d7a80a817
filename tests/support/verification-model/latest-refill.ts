export type RefillModel = { readonly amount: number } & (
  | { readonly interval: "daily"; readonly day: null }
  | { readonly interval: "monthly"; readonly day: number }
);

const dayMs = 86_400_000;

/** Looks for the last midnight at which credits are refilled, day by day. */
export function latestRefill({ interval, day }: RefillModel, now: number): number {
  let midnight = now - (now % dayMs);
  const isDue = (): boolean => {
    if (interval === "daily") return true;
    const today = new Date(midnight).getUTCDate();
    const isLastDay = new Date(midnight + dayMs).getUTCDate() === 1;
    return today === day || (isLastDay && today < day);
  };
  while (!isDue()) midnight -= dayMs;
  return midnight;
}
