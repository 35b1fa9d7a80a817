import type { BenchCluster } from "../database/bench-cluster.ts";
import {
  type MachineTime,
  readMachineTime,
  readPostgresMicroseconds,
  readProcessorMicroseconds,
} from "./processor-time.ts";

/** The counters that increase while requests are served. */
export interface ResourceCounters {
  /** By `performance.now()`. */
  readonly atMs: number;
  /**
   * The processor time of the server process, in microseconds, as for the load generator (undefined if it has
   * exited) and all Postgres processes.
   */
  readonly node: number;
  readonly generator: number | undefined;
  readonly postgres: number;
  readonly machine: MachineTime;
  /** The total size of the write-ahead log, in bytes. */
  readonly walBytes: number;
}

/** Reads all counters. */
export async function readResourceCounters(
  cluster: BenchCluster,
  pids: { readonly server: number; readonly generator: number },
): Promise<ResourceCounters> {
  const { rows } = await cluster.admin.query<{ bytes: number }>(
    "select (pg_current_wal_insert_lsn() - '0/0')::float8 as bytes",
  );
  const [node, generator, postgres, machine] = await Promise.all([
    readProcessorMicroseconds(pids.server),
    readProcessorMicroseconds(pids.generator).catch(() => undefined),
    readPostgresMicroseconds(cluster.postmaster),
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
