import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { bareEnvironment, projectRoot } from "../../support/product.ts";
import type { PeerSetup } from "./peer.ts";

/** A server process under load. */
export interface RunningServer {
  readonly baseUrl: string;
  readonly pid: number;
  /** Stops the process and waits until it has ended. */
  readonly stop: () => Promise<unknown>;
}

const startTimeoutMs = 30_000;

/**
 * Starts a server of this folder with the same `node` and the same environment as Latchkey.
 * @throws an Error if it exits, or doesn't listen within 30 s.
 */
export async function startPeer(script: string, setup: PeerSetup): Promise<RunningServer> {
  const child = spawn(process.execPath, [join(import.meta.dirname, script)], {
    cwd: projectRoot,
    env: bareEnvironment,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const stop = async (): Promise<void> => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    await exited;
  };
  child.stdin.on("error", () => undefined); // A process that exits without reading is reported below.
  child.stdin.end(JSON.stringify(setup));
  const line = await Promise.race([
    once(createInterface(child.stdout), "line", { signal: AbortSignal.timeout(startTimeoutMs) }),
    exited.then(() => [""]),
  ]).catch(() => [""]);
  const baseUrl = /^ready at (\S+)$/.exec(String(line[0]))?.[1];
  if (baseUrl && child.pid !== undefined) return { baseUrl, pid: child.pid, stop };
  await stop();
  throw new Error(`${script} did not start.`);
}
