import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { measureSlowest } from "@latchkey/db/testing/measure-slowest";
import { measureSlowness } from "@latchkey/db/testing/processor-speed";
import { statusOf } from "./open-call.ts";

/** A machine that delays responses for longer than this, in milliseconds, also delays some until their deadline. */
export const busyMs = 500;

/** A machine that delays responses for less than this, in milliseconds, serves requests at almost full speed. */
export const quietMs = 100;

/**
 * The longest delay, in milliseconds, that a node's own work causes on the reference machine, if idle, for responses that wait for
 * nothing.
 */
const ownWorkMs = 250;

/** A server that does nothing but respond, so that only a busy machine delays its responses. */
export interface IdleServer {
  readonly baseUrl: string;
  readonly pid: number;
}

const idleServerSource = `
  const server = require("node:http").createServer((_request, response) => response.end());
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
  process.stdin.resume().on("end", () => process.exit());
`;

/** Starts an idle server in its own process, which exits when this process does, however it ends. */
export async function startIdleServer(): Promise<IdleServer> {
  const child = spawn(process.execPath, ["-e", idleServerSource], { stdio: ["pipe", "pipe", "inherit"] });
  const [port] = await once(child.stdout, "data");
  // This process doesn't wait for it. The pipes to a child process are sockets.
  child.unref();
  for (const pipe of [child.stdin, child.stdout]) (pipe as unknown as Socket).unref();
  return { baseUrl: `http://127.0.0.1:${Number(port)}`, pid: child.pid ?? Number.NaN };
}

/** One for all tests of this process. */
let idleServer: Promise<IdleServer> | undefined;

/**
 * Measures how long a busy machine delays responses of a node that wait for nothing, until the returned function is called, which
 * returns the longest delay, in milliseconds. A node that blocks its own event loop also delays them, so the delay of an idle server
 * in another process bounds the result. With eight busy processes per core, a node delayed them for at most 1.8 times as long.
 */
export async function measureStall(baseUrl: string): Promise<() => Promise<number>> {
  idleServer ??= startIdleServer();
  const { baseUrl: idleUrl } = await idleServer;
  const [stopNode, stopIdle] = [baseUrl, idleUrl].map((url) =>
    measureSlowest(() => statusOf(url, "/healthz")),
  );
  return async () => {
    const [nodeMs = 0, idleMs = 0] = await Promise.all([stopNode?.(), stopIdle?.()]);
    if (nodeMs <= ownWorkMs + 2 * idleMs) return nodeMs;
    // Below the limit of a busy machine, so that a node that blocks its event loop doesn't count as one.
    const ownMs = Math.min(ownWorkMs * (await measureSlowness()), busyMs - 1);
    return Math.min(nodeMs, ownMs + 2 * idleMs);
  };
}
