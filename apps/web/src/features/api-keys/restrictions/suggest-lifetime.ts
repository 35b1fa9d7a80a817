import type { ViolatedPolicy } from "../../../server/trpc.ts";
import { lifetimes } from "../../../ui/lifetimes.ts";

const secondsPerDay = 86_400;

/** The longest lifetime in the form that all policies allow, if the expiry is what they reject. */
export function suggestLifetime(
  violated: readonly Pick<ViolatedPolicy, "violation" | "policy">[],
): keyof typeof lifetimes | undefined {
  const concerned = violated.filter(
    ({ violation }) => violation === "expiry-required" || violation === "max-lifetime",
  );
  if (concerned.length === 0) return undefined;
  const days = concerned.flatMap(({ policy }) => policy.maxLifetimeDays ?? []);
  const maxSeconds = Math.min(...days) * secondsPerDay;
  const names = Object.keys(lifetimes) as (keyof typeof lifetimes)[]; // The object's keys, in ascending order.
  return names.findLast((seconds) => Number(seconds) <= maxSeconds);
}
