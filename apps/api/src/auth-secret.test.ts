import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { findAuthSecret, getAuthSecret, requireAuthSecret } from "./auth-secret.ts";
import { StartError } from "./start-error.ts";

async function createDataDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "latchkey-secret-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  await chmod(directory, 0o700);
  return directory;
}

test("is created once by one of several nodes, in a file that only its user can read", async () => {
  const env = { authSecret: undefined, dataDirectory: await createDataDirectory() };
  expect(await findAuthSecret(env)).toBeUndefined();
  const secrets = await Promise.all(Array.from({ length: 8 }, () => getAuthSecret(env)));
  expect(new Set(secrets).size).toBe(1);
  expect(secrets[0]).toMatch(/^[A-Za-z0-9+/=]{44}$/);
  const path = join(env.dataDirectory, "auth-secret");
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect((await readFile(path, "utf8")).trim()).toBe(secrets[0]);
  expect(await findAuthSecret(env)).toBe(secrets[0]);
});

test.each(["", "\n", "torn"])("rejects a damaged file and doesn't replace it: %j", async (content) => {
  const env = { authSecret: undefined, dataDirectory: await createDataDirectory() };
  const path = join(env.dataDirectory, "auth-secret");
  await writeFile(path, content);
  await expect(getAuthSecret(env)).rejects.toThrow(StartError);
  expect(await readFile(path, "utf8")).toBe(content);
});

test("is required with an external database", () => {
  const databaseUrl = "postgres://db/latchkey";
  expect(() => requireAuthSecret({ databaseUrl, authSecret: undefined })).toThrow(/AUTH_SECRET/);
  expect(() => requireAuthSecret({ databaseUrl, authSecret: "x".repeat(32) })).not.toThrow();
  expect(() => requireAuthSecret({ databaseUrl: undefined, authSecret: undefined })).not.toThrow();
});
