import type { Ground } from "./ground/ground.ts";
import { startLoad } from "./load/start-load.ts";
import { measureFlushMicroseconds } from "./measure/flush.ts";
import { type Measurement, measure } from "./measure/measure.ts";
import type { BenchOptions } from "./options.ts";
import { benchPath } from "./servers/answer.ts";
import type { RunningServer } from "./servers/start-peer.ts";
import type { Prepared, Subject } from "./subjects.ts";

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
    const koa = await yardstick.start();
    try {
      await warmUp(koa, yardstick, { seconds: warmUpSeconds, signal });
      for (const { subject, count } of round % 2 === 0 ? forward : forward.toReversed()) {
        const measuring = { connections: count, warmUpSeconds, turns, yardstick: koa, signal };
        const measurement = await measure(ground, subject, measuring);
        onMeasurement(measurement);
        measurements.push(measurement);
      }
    } finally {
      await koa.stop();
    }
    rounds.push({ measurements, flushMicroseconds });
  }
  return rounds;
}

/** Over many connections, whatever is measured after it. */
async function warmUp(
  { baseUrl }: RunningServer,
  { keys }: Subject,
  { seconds, signal }: { readonly seconds: number; readonly signal: AbortSignal },
): Promise<void> {
  await startLoad({ url: `${baseUrl}${benchPath}`, keys, connections: 64, seconds }, signal).ended;
}
