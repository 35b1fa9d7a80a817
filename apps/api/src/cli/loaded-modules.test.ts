import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { projectRoot } from "../env.ts";

// A call of the command takes as long as the modules that it loads. These tests bound what is loaded, not the time.

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "latchkey-test-"));
});

afterAll(async () => {
  await rm(directory, { recursive: true });
});

/** Prints the URL of each module that Node loads, and the directory of the compile cache, before anything else is loaded. */
const logLoads = `
  import { getCompileCacheDir, registerHooks } from "node:module";
  import { writeSync } from "node:fs";
  registerHooks({
    load(url, context, next) {
      writeSync(2, "loaded " + url + " " + getCompileCacheDir() + "\\n");
      return next(url, context);
    },
  });`;

interface Loads {
  readonly packages: readonly string[];
  /** The number of modules. */
  readonly count: number;
  /** The URLs of the modules that are loaded before the compile cache is enabled. */
  readonly uncached: readonly string[];
}

const cacheDirectory = join(projectRoot, "node_modules/.cache/latchkey");

/** What a command line loads. */
async function readLoads(args: readonly string[]): Promise<Loads> {
  const hooks = `data:text/javascript,${encodeURIComponent(logLoads)}`;
  const command = [join(import.meta.dirname, "latchkey.ts"), ...args];
  const env = { DATA_DIR: join(directory, "data"), NODE_OPTIONS: "" };
  const run = promisify(execFile)(process.execPath, ["--import", hooks, ...command], { env });
  const { stderr } = await run.catch((error: { readonly stderr: string }) => error); // It has the output too.
  const loads = [...stderr.matchAll(/^loaded (\S+) (.+)$/gm)].map(([, url = "", cache = ""]) => ({
    url,
    cache,
  }));
  const packages = loads.map(({ url }) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1]);
  return {
    packages: [...new Set(packages.filter((name) => name !== undefined))].sort(),
    count: loads.length,
    uncached: loads.filter(({ cache }) => !cache.startsWith(cacheDirectory)).map(({ url }) => url),
  };
}

test("the compiled form of every module is cached, except for those that enable the cache", async () => {
  const { uncached } = await readLoads(["key", "list"]);
  const modules = uncached.filter((url) => !url.startsWith("node:"));
  expect(modules.map((url) => basename(url))).toEqual(["latchkey.ts", "compile-cache.ts"]);
});

test.each([
  ["--version", ["--version"]],
  ["--help", ["key", "edit", "--help"]],
  ["a usage error", ["key", "create"]],
  ["a usage error of a backup", ["backup"]],
])("%s loads only the command-line parser", async (_what, args) => {
  const { packages, count } = await readLoads(args);
  expect(packages).toEqual(["commander"]);
  expect(count).toBeLessThan(40);
});

test("a command loads what it needs for the database and for validation, and nothing of the server", async () => {
  const { packages } = await readLoads(["key", "list"]);
  expect(packages).toEqual(expect.arrayContaining(["commander", "kysely", "pg", "zod"]));
  const server = /^(better-auth|@better-auth|koa|@koa|@trpc|zod-openapi|pino|@scalar|jsonc-parser)(\/|$)/;
  expect(packages.filter((name) => server.test(name))).toEqual([]);
  expect(packages).not.toContain("pg-copy-streams");
  expect(packages).not.toContain("@node-rs/argon2");
});

test("a backup loads what it streams rows with", async () => {
  const { packages } = await readLoads(["backup", join(directory, "file")]);
  expect(packages).toEqual(expect.arrayContaining(["commander", "pg", "pg-copy-streams"]));
});
