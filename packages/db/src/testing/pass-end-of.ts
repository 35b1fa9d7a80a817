import { setTimeout as delay } from "node:timers/promises";

const lengthsMs = { hour: 3_600_000, day: 86_400_000 } as const;

/** Longer than a test takes on a busy machine, in milliseconds. */
const testMs = 60_000;

/**
 * For `beforeEach` in a file whose tests fail if an hour or a day (UTC) ends while one of them runs. Waits until the end has passed if
 * less than a minute is left.
 */
export async function passEndOf(period: keyof typeof lengthsMs): Promise<void> {
  const endsAtMs = Math.ceil((Date.now() + 1) / lengthsMs[period]) * lengthsMs[period];
  if (endsAtMs - Date.now() > testMs) return;
  // A timer can fire a millisecond early.
  while (Date.now() < endsAtMs) await delay(endsAtMs - Date.now());
}
