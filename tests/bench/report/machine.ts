import { spawnSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { availableParallelism, cpus, release, totalmem } from "node:os";
import { join } from "node:path";
import type { BenchCluster } from "../database/bench-cluster.ts";

/** The hardware and the versions of a run, as names and values. */
export interface Machine {
  readonly hardware: readonly (readonly [what: string, value: string])[];
  readonly versions: readonly (readonly [what: string, version: string])[];
}

/** Describes this machine and the installed versions. */
export async function describeMachine({ directory, settings }: BenchCluster): Promise<Machine> {
  const gib = (totalmem() / 2 ** 30).toFixed(0);
  return {
    hardware: [
      ["processor", cpus()[0]?.model.trim() ?? "unknown"],
      ["cores", `${availableParallelism()}, shared by server, Postgres and load generator`],
      ["memory", `${gib} GiB`],
      ["kernel", `${process.platform} ${release()} ${process.arch}`],
      ["file system of the database", await findFileSystem(directory)],
    ],
    versions: [
      ["Node", process.versions.node],
      ["Postgres", settings.server_version ?? "unknown"],
      ...(await Promise.all(
        ["koa", "better-auth", "@better-auth/api-key", "pg"].map(
          async (name) => [name, await findVersion(name)] as const,
        ),
      )),
      ["wrk", findWrkVersion()],
    ],
  };
}

const require = createRequire(import.meta.url);

async function findVersion(name: string): Promise<string> {
  // Reads the file, because not every package exports its package.json.
  for (const directory of require.resolve.paths(name) ?? []) {
    const text = await readFile(join(directory, name, "package.json"), "utf8").catch(() => undefined);
    if (text !== undefined) return (JSON.parse(text) as { version: string }).version; // npm requires a version.
  }
  return "unknown";
}

function findWrkVersion(): string {
  const { stdout } = spawnSync("wrk", ["--version"], { encoding: "utf8" });
  return /^wrk (\S+)/.exec(stdout ?? "")?.[1] ?? "unknown";
}

/** The type of the file system that contains a path. @see proc_pid_mounts(5) */
async function findFileSystem(path: string): Promise<string> {
  const mounts = (await readFile("/proc/self/mounts", "utf8")).trim().split("\n");
  const holding = mounts
    .map((line) => line.split(" "))
    .filter(([, point = ""]) => `${path}/`.startsWith(point.endsWith("/") ? point : `${point}/`))
    .toSorted(([, a = ""], [, b = ""]) => b.length - a.length);
  return holding[0]?.[2] ?? "unknown";
}
