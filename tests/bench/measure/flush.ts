import { randomBytes } from "node:crypto";
import { closeSync, fdatasyncSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { percentile } from "./statistics.ts";

const pageBytes = 8_192;

/**
 * How long one flush of the write-ahead log takes on this disk: the median, in microseconds, of writing 8 kB into a
 * file that has its full size already and calling fdatasync, which is what Postgres does at a commit. It is timed
 * without Postgres and without the event loop, so that nothing but the disk is in it.
 */
export function measureFlushMicroseconds(directory: string, flushes = 500): number {
  const path = join(directory, "flush-probe");
  const page = randomBytes(pageBytes);
  const file = openSync(path, "wx+");
  try {
    for (let index = 0; index < flushes; index += 1) writeSync(file, page, 0, pageBytes, index * pageBytes);
    fsyncSync(file);
    const times: number[] = [];
    for (let index = 0; index < flushes; index += 1) {
      const startedAt = performance.now();
      writeSync(file, page, 0, pageBytes, index * pageBytes);
      fdatasyncSync(file);
      times.push((performance.now() - startedAt) * 1_000);
    }
    return percentile(times, 0.5);
  } finally {
    closeSync(file);
    rmSync(path);
  }
}
