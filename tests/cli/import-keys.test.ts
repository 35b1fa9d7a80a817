import { execFile, spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { type Account, callProcedure, signUp } from "../support/account.ts";
import { callApi, createKeyspace, type Keyspace, pathOf } from "../support/keyspace.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import { spawnCommand } from "../support/product.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { expectFailure, expectResult, expectText } from "./expect-result.ts";

// Imports of keys from files. An import of many keys reports its progress and can be interrupted.

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

const sha256 = (secret: string): Buffer => createHash("sha256").update(secret).digest();
const hashOf = (secret: string): string => sha256(secret).toString("hex");

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

const run = (command: readonly string[]) => instance.command(["--json", ...command]);

async function verify(key: string): Promise<Record<string, unknown>> {
  return await callApi(keyspace, ["POST", "/keys/verify"], { key });
}

test("imports keys of any form from CSV, reports rejected rows, and changes nothing when it is repeated", async () => {
  const keys = ["old-system-key", "x".repeat(512), "ключ с пробелом"];
  const [hex, base64, other] = keys.map(sha256);
  const file = await writeKeyFile("keys.csv", [
    "hash,start,name,externalId,permissions,credits,isDisabled",
    `${hex?.toString("hex")},old-sy,Old,customer_1,documents.read admin,5,`,
    `${base64?.toString("base64")},,,,,,`,
    "not-a-hash,,,,,,",
    `${other?.toString("hex")},,,customer_1,,,true`,
    `${hashOf("wrong")},,,,documents.*.read,,`,
    `${hashOf("negative")},,,,,-5,`,
  ]);
  const rejected = [
    { line: 4, path: "hash", message: expect.stringContaining("SHA-256") },
    { line: 6, path: "permissions", message: expect.stringMatching(/^item 1: .*documents\.read/) },
    { line: 7, path: "credits", message: "Use at least 0." },
  ];
  const command = ["import", "keys", file, "--keyspace", keyspace.id];
  expect(expectResult(await run(command))).toEqual({ imported: 3, existing: 0, rejected });
  expect(await verify("old-system-key")).toMatchObject({
    code: "VALID",
    name: "Old",
    externalId: "customer_1",
    permissions: ["documents.read", "admin"],
    credits: { remaining: 4 },
  });
  expect(await verify(keys[1] ?? "")).toMatchObject({ code: "VALID", externalId: null });
  expect(await verify(keys[2] ?? "")).toMatchObject({ code: "DISABLED" });
  expect(expectResult(await run(command))).toEqual({ imported: 0, existing: 3, rejected });
  // A repeated import doesn't undo what happened since.
  expect(await verify("old-system-key")).toMatchObject({ credits: { remaining: 3 } });
  const text = expectText(await instance.command(command));
  expect(text).toContain("line 4: hash: Enter the SHA-256 of the key, in hexadecimal, base64 or base64url.");
  expect(text).toContain("line 7: credits: Use at least 0.");
  const ndjson = await writeKeyFile("negative.ndjson", [
    JSON.stringify({ hash: hashOf("negative"), credits: { remaining: -5 } }),
  ]);
  expect(expectResult(await run(["import", "keys", ndjson, "--keyspace", keyspace.id]))).toMatchObject({
    rejected: [{ line: 1, path: "credits.remaining", message: "Use at least 0." }],
  });
});

test("imports NDJSON, continues an interrupted import, and rejects keys of another keyspace", async () => {
  const keys = Array.from({ length: 2_500 }, () => randomBytes(16).toString("hex"));
  const toLine = (key: string) => JSON.stringify({ hash: hashOf(key), name: key.slice(0, 4) });
  const half = await writeKeyFile("half.ndjson", keys.slice(0, 1_250).map(toLine));
  const whole = await writeKeyFile("whole.jsonl", [...keys.map(toLine), ""]);
  const importInto = (file: string, id: string) => run(["import", "keys", file, "--keyspace", id]);
  expect(expectResult(await importInto(half, keyspace.id))).toEqual({
    imported: 1_250,
    existing: 0,
    rejected: [],
  });
  expect(expectResult(await importInto(whole, keyspace.id))).toEqual({
    imported: 1_250,
    existing: 1_250,
    rejected: [],
  });
  const listed = expectResult(await run(["keyspace", "list", "--workspace", keyspace.workspaceId])).data;
  expect(listed).toContainEqual(expect.objectContaining({ id: keyspace.id, keyCount: 2_500 }));
  const options = ["--workspace", keyspace.workspaceId, "--name", "Other", "--prefix", "other"];
  const otherId = String(expectResult(await run(["keyspace", "create", ...options])).id);
  const result = expectResult(await importInto(half, otherId));
  expect(result).toMatchObject({ imported: 0, existing: 0 });
  expect(result.rejected).toHaveLength(1_250);
  const log = await callProcedure(baseUrl, {
    path: "audit.list",
    kind: "query",
    cookie: account.cookie,
    input: { workspaceId: keyspace.workspaceId },
  });
  expect(log.data).toMatchObject({
    items: expect.arrayContaining([
      expect.objectContaining({
        action: "keyspace.keys-imported",
        after: { name: "Production", keys: 1_000 },
      }),
    ]),
  });
});

test("a row that no request may contain is rejected alone", async () => {
  const nested = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
  const file = await writeKeyFile("hostile.ndjson", [
    ...[
      '"name":"a\\u0000b"',
      '"meta":{"plan":"\\ud800"}',
      '"meta":{"__proto__":"pro"}',
      `"meta":{"plan":${nested}}`,
    ].map((field) => `{"hash":"${hashOf(field)}",${field}}`),
    `{"hash":"${hashOf("kept")}"}`,
  ]);
  const result = expectResult(await run(["import", "keys", file, "--keyspace", keyspace.id]));
  const messages = [
    "name: Remove U+0000 and incomplete characters.",
    "meta: Remove U+0000 and incomplete characters.",
    "meta: Remove the field named __proto__.",
    "meta: Nest objects and lists at most 32 levels deep.",
  ];
  const rejected = messages.map((message, index) => ({ line: index + 1, path: "", message }));
  expect(result).toEqual({ imported: 1, existing: 0, rejected });
});

test("imports keys from a pipe, and names a directory as the reason why it can't be read", async () => {
  const pipe = join(instance.directory, "pipe");
  await promisify(execFile)("mkfifo", [pipe]);
  // More than a pipe holds at a time.
  const lines = createSecrets(1_500).map((secret) => JSON.stringify({ hash: hashOf(secret) }));
  const file = await writeKeyFile("piped", lines);
  // In a process of its own, which waits until the pipe is read.
  const writer = spawn("sh", ["-c", 'cat "$0" > "$1"', file, pipe]);
  onTestFinished(() => void writer.kill());
  const options = ["--keyspace", keyspace.id, "--format", "ndjson"];
  expect(expectResult(await run(["import", "keys", pipe, ...options]))).toEqual({
    imported: 1_500,
    existing: 0,
    rejected: [],
  });
  expectFailure(await run(["import", "keys", instance.directory, ...options]), {
    status: 2,
    code: "BAD_REQUEST",
    message: /is a directory\. Expected the path of a file\.$/,
  });
});

test("a file that can't be read, and a wrong keyspace, fail with a reason", async () => {
  const file = await writeKeyFile("wrong.csv", ["hash,password", "1,2"]);
  const wrongColumn = await run(["import", "keys", file, "--keyspace", keyspace.id]);
  expectFailure(wrongColumn, { status: 1, code: "BAD_REQUEST", message: /password/ });
  const missing = join(instance.directory, "missing.csv");
  expectFailure(await run(["import", "keys", missing, "--keyspace", keyspace.id]), {
    status: 2,
    code: "BAD_REQUEST",
    message: /^There is no file ".*missing\.csv"\.$/,
  });
  const text = await writeKeyFile("keys.txt", []);
  expectFailure(await run(["import", "keys", text, "--keyspace", keyspace.id]), {
    status: 2,
    code: "BAD_REQUEST",
    message: /--format/,
  });
  const unknown = "ks_01h455vb4pex5vsknk084sn02q";
  const empty = await writeKeyFile("empty.csv", ["hash", ""]);
  expectFailure(await run(["import", "keys", empty, "--keyspace", unknown]), {
    status: 1,
    code: "NOT_FOUND",
    message: "There is no such keyspace.",
  });
});

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
  for (const index of [0, 9_999, 10_000, 24_999])
    expect(await verify(secrets[index] ?? "")).toMatchObject({ code: "VALID" });
}, 600_000);

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
    `Stopped after ${count} rows: ${count} imported, 0 already in the keyspace, 0 rejected. Import the same rows again to continue.`,
  );
  expect(JSON.parse(error ?? "")).toEqual({
    error: { code: "BAD_REQUEST", message: "Line 2502 isn’t valid CSV. Check its quotation marks." },
  });
  const mended = await writeKeyFile("mended.csv", [...lines, `${hashOf("last")},Acme`]);
  const again = await instance.command(argumentsOf(mended));
  expect(JSON.parse(again.stdout)).toEqual({ imported: 2_501 - count, existing: count, rejected: [] });
  expect(await countKeys()).toBe(2_501);
});
