import type { BenchCluster } from "./database/bench-cluster.ts";
import { measureFlushMicroseconds } from "./measure/flush.ts";
import { type Measurement, measure } from "./measure/measure.ts";
import type { BenchOptions } from "./options.ts";
import type { Subject } from "./subject.ts";

/** One measurement of every case. */
export interface Round {
  readonly measurements: readonly Measurement[];
  /** The duration of one flush to disk, in microseconds. */
  readonly flushMicroseconds: number;
}

export interface RoundsOptions
  extends Pick<BenchOptions, "rounds" | "connections" | "warmUpSeconds" | "turns"> {
  readonly signal: AbortSignal;
  readonly onMeasurement: (measurement: Measurement) => void;
}

/**
 * Measures every case in each round. Each round reverses the order, so that a machine that becomes slower or faster
 * during the run favors no case.
 */
export async function runRounds(
  cluster: BenchCluster,
  subjects: readonly Subject[],
  options: RoundsOptions,
): Promise<Round[]> {
  const { connections, warmUpSeconds, turns, signal, onMeasurement } = options;
  const forward = connections.flatMap((count) =>
    subjects
      .filter(({ maxConnections = Number.POSITIVE_INFINITY }) => count <= maxConnections)
      .map((subject) => ({ subject, count })),
  );
  const rounds: Round[] = [];
  for (let round = 0; round < options.rounds; round += 1) {
    const flushMicroseconds = measureFlushMicroseconds(cluster.directory);
    const measurements: Measurement[] = [];
    for (const { subject, count } of round % 2 === 0 ? forward : forward.toReversed()) {
      const measuring = { connections: count, warmUpSeconds, turns, signal };
      const measurement = await measure(cluster, subject, measuring);
      onMeasurement(measurement);
      measurements.push(measurement);
    }
    rounds.push({ measurements, flushMicroseconds });
  }
  return rounds;
}
