import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Env } from "./env.ts";
import { StartError } from "./start-error.ts";

/**
 * The secret that signs sessions: from the environment, else from the data directory, where the first start
 * generates it. Two nodes that start at once end with one.
 * @throws {StartError} with `DATABASE_URL`, where several machines must share the secret, so that it must be given.
 */
export async function getAuthSecret(
  env: Pick<Env, "authSecret" | "databaseUrl" | "dataDirectory">,
): Promise<string> {
  if (env.authSecret) return env.authSecret;
  if (env.databaseUrl) {
    throw new StartError(
      "With DATABASE_URL, set AUTH_SECRET too, to at least 32 random characters that every node shares; `openssl rand -base64 33` makes some.",
    );
  }
  await mkdir(env.dataDirectory, { recursive: true, mode: 0o700 });
  const path = join(env.dataDirectory, "auth-secret");
  return (await read(path)) ?? (await create(path));
}

async function create(path: string): Promise<string> {
  const draft = `${path}.${process.pid}`;
  await writeFile(draft, `${randomBytes(33).toString("base64")}\n`, { mode: 0o600 });
  try {
    // A link appears whole or not at all, and fails where another node's already is.
    await link(draft, path);
  } catch (error) {
    if (!isCode(error, "EEXIST")) throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return (await read(path)) ?? Promise.reject(new StartError(`The secret in ${path} cannot be read.`));
}

async function read(path: string): Promise<string | undefined> {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch (error) {
    if (isCode(error, "ENOENT")) return undefined;
    throw error;
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
