import { randomBytes } from "node:crypto";
import { link, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Env } from "./env.ts";
import { StartError } from "./start-error.ts";

/** The same minimum as for `AUTH_SECRET`. A generated secret has 44 characters. */
const minSecretLength = 32;

/**
 * Requires `AUTH_SECRET` if `DATABASE_URL` is set, because several machines may then share the database.
 * @throws {StartError}
 */
export function requireAuthSecret(env: Pick<Env, "authSecret" | "databaseUrl">): void {
  if (env.authSecret || !env.databaseUrl) return;
  throw new StartError(
    "With DATABASE_URL, AUTH_SECRET is required: at least 32 random characters, the same on every node. To generate them, run `openssl rand -base64 33`.",
  );
}

/**
 * Returns the secret that signs sessions: from the environment, otherwise from the data directory of the embedded
 * Postgres, where the first start generates it. Nodes that start at the same time get the same secret.
 */
export async function getAuthSecret(env: Pick<Env, "authSecret" | "dataDirectory">): Promise<string> {
  return (await findAuthSecret(env)) ?? (await create(pathOf(env)));
}

/** Returns the same secret as {@link getAuthSecret}; undefined if the server has not generated it yet. */
export async function findAuthSecret(
  env: Pick<Env, "authSecret" | "dataDirectory">,
): Promise<string | undefined> {
  return env.authSecret ?? (await read(pathOf(env)));
}

function pathOf({ dataDirectory }: Pick<Env, "dataDirectory">): string {
  return join(dataDirectory, "auth-secret");
}

async function create(path: string): Promise<string> {
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  await writeFile(draft, `${randomBytes(33).toString("base64")}\n`, { mode: 0o600, flag: "wx", flush: true });
  try {
    // Creating a link is atomic, and fails if another node has already created it.
    await link(draft, path);
  } catch (error) {
    if (!isCode(error, "EEXIST")) throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return (await read(path)) ?? Promise.reject(new StartError(`The secret in ${path} cannot be read.`));
}

async function read(path: string): Promise<string | undefined> {
  let secret: string;
  try {
    secret = (await readFile(path, "utf8")).trim();
  } catch (error) {
    if (isCode(error, "ENOENT")) return undefined;
    throw error;
  }
  if (secret.length >= minSecretLength) return secret;
  throw new StartError(
    `The secret in ${path} is damaged; restore the file. If it is lost, remove it to generate a new secret: everyone is signed out, authenticator apps have to be set up again, and webhooks get no messages until their secrets are rotated.`,
  );
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
