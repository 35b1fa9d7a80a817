import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Variables } from "../support/product.ts";

const run = promisify(execFile);

/** The environment variables that shift the clock of a process by this many hours. Durations are still correct. */
export async function skewClock(hours: number): Promise<Variables> {
  const { stdout } = await run("dpkg", ["--listfiles", "libfaketime"]);
  const library = stdout.split("\n").find((path) => path.endsWith("/libfaketime.so.1"));
  if (!library) throw new Error("libfaketime is not installed; run `pnpm test:system`, which installs it.");
  return {
    LD_PRELOAD: library,
    FAKETIME: `${hours < 0 ? "-" : "+"}${Math.abs(hours)}h`,
    FAKETIME_DONT_FAKE_MONOTONIC: "1",
  };
}
