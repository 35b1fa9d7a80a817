import { randomBytes } from "node:crypto";
import { closeSync, fdatasyncSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { percentile } from "./statistics.ts";

const pageBytes = 8_192;

/**
 * Measures one flush of the write-ahead log on this disk, in microseconds: the median time of writing 8 kB to a file
 * of fixed size and calling fdatasync, as Postgres does at a commit. Runs synchronously and without Postgres, so that
 * only the disk is measured.
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
