import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { findFreePort } from "@latchkey/db/testing/free-port";
import { eventually } from "../support/postmaster.ts";
import { bareEnvironment, createDirectory, projectRoot } from "../support/product.ts";

/** A proxy in front of two nodes, as a separate process. */
export interface ReverseProxy {
  readonly baseUrl: string;
  /** The last errors of nginx, except about stopped nodes. */
  readonly complaints: () => Promise<string>;
  readonly stop: () => Promise<void>;
}

export type ProxyProgram = "nginx" | "haproxy";

const errorLog = "errors.log";

/** The addresses in docs/running-behind-a-proxy.md: of the proxy, and of its two nodes. */
const documented = {
  nginx: "listen 80;",
  haproxy: "bind :80\n",
  nodes: ["10.0.0.11:4000", "10.0.0.12:4000"],
} as const;

/** Starts the installed program with the configuration of the documentation, on a loopback port. */
export async function startReverseProxy(
  program: ProxyProgram,
  nodePorts: readonly [number, number],
): Promise<ReverseProxy> {
  const port = await findFreePort();
  return await startProxyProgram(program, port, await readDocumented(program, port, nodePorts));
}

/** Starts the installed program with a configuration that listens on a loopback port. */
export async function startProxyProgram(
  program: ProxyProgram,
  port: number,
  configuration: string,
): Promise<ReverseProxy> {
  const directory = await createDirectory();
  const path = join(directory, `${program}.conf`);
  await writeFile(path, frames[program](configuration, directory));
  const child = spawn(`/usr/sbin/${program}`, args[program](path, directory), {
    cwd: directory,
    env: bareEnvironment,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const refusal = text(child.stderr);
  refusal.catch(() => undefined);
  try {
    await eventually(`${program} listens`, () => isListening(child, port));
  } catch (error) {
    child.kill("SIGKILL");
    throw new Error(`${program} does not run: ${await refusal}`, { cause: error });
  }
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    async complaints() {
      const log = await readFile(join(directory, errorLog), "utf8").catch(() => "");
      const lines = log.split("\n").filter((line) => !line.includes("Connection refused"));
      return lines.slice(-20).join("\n");
    },
    async stop() {
      const exited = once(child, "exit");
      if (child.exitCode === null) child.kill("SIGTERM");
      if (child.exitCode === null) await exited;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Returns the documentation's block for a program, with loopback addresses. @throws an Error if it contains others.
 */
async function readDocumented(
  program: ProxyProgram,
  port: number,
  nodePorts: readonly [number, number],
): Promise<string> {
  const page = await readFile(join(projectRoot, "docs/running-behind-a-proxy.md"), "utf8");
  const block = new RegExp(`^\`\`\`${program}\n(.*?)^\`\`\`$`, "ms").exec(page)?.[1];
  if (block === undefined) throw new Error(`The documentation has no configuration for ${program}.`);
  const [one, two] = documented.nodes;
  const listens = documented[program];
  return [
    [listens, listens.replace(/:?80/, `127.0.0.1:${port}`)],
    [one, `127.0.0.1:${nodePorts[0]}`],
    [two, `127.0.0.1:${nodePorts[1]}`],
  ].reduce((text, [from = "", to = ""]) => {
    if (text.split(from).length !== 2)
      throw new Error(`The documentation has not one "${from}" for ${program}.`);
    return text.replace(from, () => to);
  }, block);
}

/** The rest of the configuration around the documented block, as in a distribution's default configuration. */
const frames = {
  nginx: (block: string, directory: string): string => `
daemon off;
user nobody nogroup;
worker_processes 1;
pid ${directory}/nginx.pid;
error_log ${directory}/${errorLog} error;
events { worker_connections 1024; }
http {
  access_log off;
  ${["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${directory}/${name};`).join(" ")}
  ${block}
}
`,
  haproxy: (block: string): string => block,
} as const satisfies Record<ProxyProgram, (block: string, directory: string) => string>;

const args = {
  nginx: (path: string, directory: string) => ["-p", directory, "-c", path, "-e", join(directory, errorLog)],
  // In the foreground, a single process.
  haproxy: (path: string) => ["-db", "-f", path],
} as const satisfies Record<ProxyProgram, (path: string, directory: string) => readonly string[]>;

/** @throws an Error when the process has ended. */
export async function isListening(child: ChildProcess, port: number): Promise<boolean> {
  if (child.exitCode !== null) throw new Error(`It ended with ${child.exitCode}.`);
  const socket = connect(port, "127.0.0.1");
  const answer = await Promise.race([
    once(socket, "connect").then(() => true),
    once(socket, "error").then(() => false),
  ]).catch(() => false);
  socket.destroy();
  return answer;
}
