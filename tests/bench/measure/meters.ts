import type { Ground } from "../ground/ground.ts";
import {
  type MachineTime,
  readMachineTime,
  readPostgresMicroseconds,
  readProcessorMicroseconds,
} from "./processor-time.ts";

/** What runs on while requests are served. */
export interface Meters {
  /** By `performance.now()`. */
  readonly atMs: number;
  /** Processor time of the server's process, of all of Postgres and of the load generator, unless that is gone. */
  readonly node: number;
  readonly generator: number | undefined;
  readonly postgres: number;
  readonly machine: MachineTime;
  /** All that was ever written to the write-ahead log. */
  readonly walBytes: number;
}

/** Reads all meters at once. */
export async function readMeters(
  ground: Ground,
  pids: { readonly server: number; readonly generator: number },
): Promise<Meters> {
  const { rows } = await ground.admin.query<{ bytes: number }>(
    "select (pg_current_wal_insert_lsn() - '0/0')::float8 as bytes",
  );
  const [node, generator, postgres, machine] = await Promise.all([
    readProcessorMicroseconds(pids.server),
    readProcessorMicroseconds(pids.generator).catch(() => undefined),
    readPostgresMicroseconds(ground.postmaster),
    readMachineTime(),
  ]);
  return {
    atMs: performance.now(),
    node,
    generator,
    postgres,
    machine,
    walBytes: rows[0]?.bytes ?? Number.NaN,
  };
}
