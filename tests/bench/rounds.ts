import type { Ground } from "./ground/ground.ts";
import { measureFlushMicroseconds } from "./measure/flush.ts";
import { type Measurement, measure } from "./measure/measure.ts";
import type { BenchOptions } from "./options.ts";
import type { Prepared } from "./subjects.ts";

/** Everything measured once. */
export interface Round {
  readonly measurements: readonly Measurement[];
  /** One flush of the disk's, in microseconds. */
  readonly flushMicroseconds: number;
}

export interface RoundsOptions extends BenchOptions {
  readonly signal: AbortSignal;
  readonly onMeasurement: (measurement: Measurement) => void;
}

/**
 * Measures everything, round after round, in an order that turns round each time: a machine that gets slower or
 * faster meanwhile favours nobody.
 */
export async function runRounds(
  ground: Ground,
  { subjects, yardstick }: Prepared,
  options: RoundsOptions,
): Promise<Round[]> {
  const { connections, warmUpSeconds, turns, signal, onMeasurement } = options;
  const forward = connections.flatMap((count) => subjects.map((subject) => ({ subject, count })));
  const rounds: Round[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    const flushMicroseconds = measureFlushMicroseconds(ground.directory);
    const measurements: Measurement[] = [];
    for (const { subject, count } of round % 2 === 0 ? forward : forward.toReversed()) {
      const measuring = { connections: count, warmUpSeconds, turns, yardstick, signal };
      const measurement = await measure(ground, subject, measuring);
      onMeasurement(measurement);
      measurements.push(measurement);
    }
    rounds.push({ measurements, flushMicroseconds });
  }
  return rounds;
}
