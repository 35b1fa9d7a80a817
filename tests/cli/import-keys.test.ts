import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Account, signUp } from "../support/account.ts";
import { callApi, createKeyspace, type Keyspace, pathOf } from "../support/keyspace.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import { spawnCommand } from "../support/product.ts";
import type { TestInstance } from "../support/test-instance.ts";

// Imports of many keys, which report their progress and can be interrupted.

let instance: TestInstance;
let baseUrl: string;
let account: Account;
let keyspace: Keyspace;

beforeAll(async () => {
  instance = await createPreparedInstance();
  ({ baseUrl } = await instance.startInProcess());
  account = await signUp(baseUrl);
});
afterAll(async () => {
  await instance?.close();
});
beforeEach(async () => {
  keyspace = await createKeyspace(baseUrl, account);
});

function createSecrets(count: number): readonly string[] {
  const run = randomBytes(8).toString("hex");
  return Array.from({ length: count }, (_, index) => `${run}-${index}`);
}

const hashOf = (secret: string): string => createHash("sha256").update(secret).digest("hex");

async function writeKeyFile(name: string, lines: readonly string[]): Promise<string> {
  const file = join(instance.directory, name);
  await writeFile(file, lines.join("\n"));
  return file;
}

const argumentsOf = (file: string) => ["--json", "import", "keys", file, "--keyspace", keyspace.id];

async function countKeys(): Promise<number> {
  const { keyCount } = await callApi<{ keyCount: number }>(keyspace, ["GET", pathOf(keyspace)]);
  return keyCount;
}

async function verify(key: string): Promise<string> {
  return (await callApi<{ code: string }>(keyspace, ["POST", "/keys/verify"], { key })).code;
}

test("an import whose process was killed is continued, and each key is there once", async () => {
  const secrets = createSecrets(25_000);
  const lines = secrets.map((secret) => JSON.stringify({ hash: hashOf(secret) }));
  const file = await writeKeyFile("many.ndjson", lines);
  const child = spawnCommand(argumentsOf(file), { DATA_DIR: instance.dataDirectory });
  const exited = once(child, "close");
  const output = text(child.stdout);
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    errors += chunk;
    // It has read 10,000 rows.
    child.kill("SIGKILL");
  });
  expect(await exited).toEqual([null, "SIGKILL"]);
  expect(errors).toBe("Read 10000 rows, imported 10000 keys.\n");
  expect(await output).toBe("");

  const { status, stdout, stderr } = await instance.command(argumentsOf(file));
  expect(status).toBe(0);
  const { imported, existing, rejected } = JSON.parse(stdout) as Record<string, number>;
  expect({ count: (imported ?? 0) + (existing ?? 0), rejected }).toEqual({ count: 25_000, rejected: [] });
  expect(existing).toBeGreaterThanOrEqual(10_000);
  expect(imported).toBeGreaterThan(0);
  const importedAt = (rows: number) => Math.max(0, rows - (existing ?? 0));
  expect(stderr).toBe(
    [10_000, 20_000].map((rows) => `Read ${rows} rows, imported ${importedAt(rows)} keys.\n`).join(""),
  );
  expect(await countKeys()).toBe(25_000);
  for (const index of [0, 9_999, 10_000, 24_999]) expect(await verify(secrets[index] ?? "")).toBe("VALID");
}, 240_000);

test("an import that can't read the rest of its file reports what it imported, and an import of the repaired file continues it", async () => {
  const secrets = createSecrets(2_500);
  const lines = ["hash,name", ...secrets.map((secret) => `${hashOf(secret)},`)];
  // The header and 2,500 rows precede it.
  const broken = await writeKeyFile("broken.csv", [...lines, `${hashOf("last")},"Ac"me`]);
  const { status, stdout, stderr } = await instance.command(argumentsOf(broken));
  expect([status, stdout]).toEqual([1, ""]);
  const [stopped, error] = stderr.split("\n");
  // Rows that were read together with the broken one are not imported.
  const count = await countKeys();
  expect(count).toBeGreaterThan(0);
  expect(stopped).toBe(
    `Stopped after ${count} rows: ${count} imported, 0 already in the keyspace, 0 rejected. Import the same file again to continue.`,
  );
  expect(JSON.parse(error ?? "")).toEqual({
    error: { code: "BAD_REQUEST", message: "Line 2502 isn’t valid CSV. Check its quotation marks." },
  });
  const mended = await writeKeyFile("mended.csv", [...lines, `${hashOf("last")},Acme`]);
  const again = await instance.command(argumentsOf(mended));
  expect(JSON.parse(again.stdout)).toEqual({ imported: 2_501 - count, existing: count, rejected: [] });
  expect(await countKeys()).toBe(2_501);
});
