import { constants, open, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ClusterLocation } from "./cluster-location.ts";
import { runProgram } from "./run-program.ts";

/** The log is rotated above this size, in bytes. One former log is kept, so both together take about twice as much. */
const maxLogBytes = 10 * 1024 * 1024;

/** Where a cluster's Postgres writes its log. */
export function logPath(cluster: string): string {
  return join(cluster, "postgres.log");
}

/**
 * Copies a log that has become too large to `postgres.log.1` and truncates it. The log isn't renamed, because Postgres
 * appends through a descriptor that it keeps open, and would keep writing to the renamed file. What it writes between
 * the copy and the truncation is lost. Never throws: a log that can't be copied (a full disk) is truncated anyway, and
 * one that can't be truncated is tried again.
 */
export async function rotateLog({ account, cluster }: ClusterLocation): Promise<void> {
  const log = logPath(cluster);
  const found = await stat(log).catch(() => undefined);
  if (!found || found.size <= maxLogBytes) return;
  // Runs as the account: root must not follow a link that another user created.
  await runProgram("/bin/sh", ["-c", rotation, "sh", log, String(maxLogBytes)], { account });
}

/**
 * If two processes rotate the log at the same time, the process whose copy was cut short by the other does nothing
 * more.
 */
const rotation = `
umask 077
copy="$1.tmp-$$"
if cp -- "$1" "$copy"; then
  if [ "$(wc -c <"$copy")" -le "$2" ]; then rm -f -- "$copy"; exit; fi
  mv -f -- "$copy" "$1.1"
else
  rm -f -- "$copy"
fi
: >"$1"`;

/**
 * Finds the last failure in the log after an offset in bytes: one of the process itself, or otherwise any failure of
 * the server.
 */
export async function findLastFailure(
  log: string,
  own: { pid: number | undefined; from: number },
): Promise<string> {
  const lines = (await readTail(log, own.from)).split("\n").filter(Boolean);
  // Postgres also logs FATAL for connections that come too early, which doesn't explain why a start failed.
  const failures = lines.filter((line) => /(FATAL|PANIC): (?!.*the database system is )/.test(line));
  const line =
    failures.findLast((failure) => failure.includes(`[${own.pid}]`)) ?? failures.at(-1) ?? lines.at(-1);
  return line?.trim() ?? "it logged nothing";
}

async function readTail(log: string, from: number): Promise<string> {
  const handle = await open(log, constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => undefined);
  if (!handle) return "";
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(65_536), 0, 65_536, from);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await handle.close();
  }
}
