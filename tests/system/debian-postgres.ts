import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chown, glob, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { findFreePort } from "@latchkey/db/testing/free-port";
import { bareEnvironment, createDirectory, type Variables } from "../support/product.ts";

const run = promisify(execFile);

/**
 * A Postgres from Debian's packages, on a loopback port, with a role that owns its database and isn't a superuser.
 */
export interface DebianPostgres {
  /** The major version, such as 15. */
  readonly version: number;
  readonly databaseUrl: string;
  /** Another, empty database, with a role that can only connect to it. */
  readonly visitorUrl: string;
  /** The connection of the superuser. */
  readonly superuserUrl: string;
  /** Runs one of Debian's Postgres programs, such as `pg_dump`. @returns its output. */
  readonly run: (program: string, args: readonly string[], variables?: Variables) => Promise<string>;
  readonly stop: () => Promise<void>;
}

/** Starts the newest installed version on a new cluster, which `stop` removes. */
export async function startDebianPostgres(): Promise<DebianPostgres> {
  const bin = await findBinaries();
  const account = await findAccount();
  const directory = await createDirectory();
  const data = join(directory, "data");
  const passwordFile = join(directory, "password");
  await mkdir(data, { mode: 0o700 });
  await writeFile(passwordFile, "a password for tests\n", { mode: 0o600 });
  if (account) for (const path of [data, passwordFile]) await chown(path, account.uid, account.gid);

  const options = { ...account, cwd: "/" };
  await run(
    join(bin, "initdb"),
    ["-D", data, "-U", "postgres", "-A", "scram-sha-256", `--pwfile=${passwordFile}`],
    options,
  );
  const port = await findFreePort();
  const settings = [
    "-c",
    "listen_addresses=127.0.0.1",
    "-c",
    `port=${port}`,
    "-c",
    "unix_socket_directories=",
  ];
  const server = spawn(join(bin, "postgres"), ["-D", data, ...settings], {
    ...options,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const lines = createInterface(server.stderr);
  await new Promise<void>((ready, failed) => {
    lines.on("line", (line) => {
      if (line.includes("ready to accept connections")) ready();
    });
    server.once("exit", (code) => failed(new Error(`Postgres ended with ${code}.`)));
  });
  const admin = `postgres://postgres:a%20password%20for%20tests@127.0.0.1:${port}/postgres`;
  const psql = (sql: string) => run(join(bin, "psql"), [admin, "-v", "ON_ERROR_STOP=1", "-c", sql]);
  await psql("create role tenant login createrole password 'its own password'");
  await psql("create database tenant owner tenant");
  await psql("create role visitor login password 'its own password'");
  await psql("create database visited");
  return {
    version: Number((await readFile(join(data, "PG_VERSION"), "utf8")).trim()),
    databaseUrl: `postgres://tenant:its%20own%20password@127.0.0.1:${port}/tenant`,
    visitorUrl: `postgres://visitor:its%20own%20password@127.0.0.1:${port}/visited`,
    superuserUrl: admin,
    async run(program, args, variables = {}) {
      const env = { ...bareEnvironment, ...variables };
      return (await run(join(bin, program), args, { env, maxBuffer: 2 ** 26 })).stdout;
    },
    async stop() {
      server.kill("SIGINT");
      await once(server, "exit");
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function findBinaries(): Promise<string> {
  const found = await Array.fromAsync(glob("/usr/lib/postgresql/*/bin/postgres"));
  const [newest] = found.toSorted((a, b) => b.localeCompare(a, "en", { numeric: true }));
  if (!newest)
    throw new Error("No Postgres of Debian's is installed; run `pnpm test:system`, which installs it.");
  return join(newest, "..");
}

/** Postgres refuses to run as root. */
async function findAccount(): Promise<{ uid: number; gid: number } | undefined> {
  if (userInfo().uid !== 0) return undefined;
  const [uid, gid] = await Promise.all(
    ["-u", "-g"].map(async (flag) => Number((await run("id", [flag, "postgres"])).stdout)),
  );
  if (uid === undefined || gid === undefined) throw new Error("There is no user postgres.");
  return { uid, gid };
}
