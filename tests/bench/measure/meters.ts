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
  /** Processor time of the server's process and of all of Postgres, in microseconds. */
  readonly node: number;
  readonly postgres: number;
  readonly machine: MachineTime;
  /** All that was ever written to the write-ahead log. */
  readonly walBytes: number;
}

/** Reads all meters at once. */
export async function readMeters(ground: Ground, pid: number): Promise<Meters> {
  const { rows } = await ground.admin.query<{ bytes: number }>(
    "select (pg_current_wal_insert_lsn() - '0/0')::float8 as bytes",
  );
  const [node, postgres, machine] = await Promise.all([
    readProcessorMicroseconds(pid),
    readPostgresMicroseconds(ground.postmaster),
    readMachineTime(),
  ]);
  return { atMs: performance.now(), node, postgres, machine, walBytes: rows[0]?.bytes ?? Number.NaN };
}
