import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signUp } from "../support/account.ts";
import { createKeyspace, type Keyspace } from "../support/keyspace.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { expectFailure, expectResult } from "./expect-result.ts";

// `latchkey verify`, while a server verifies keys of the same workspace.

let instance: TestInstance;
let keyspace: Keyspace;

beforeAll(async () => {
  instance = await createPreparedInstance();
  const { baseUrl } = await instance.startInProcess();
  keyspace = await createKeyspace(baseUrl, await signUp(baseUrl));
});
afterAll(async () => {
  await instance?.close();
});

const run = (command: readonly string[]) => instance.command(["--json", ...command]);

test("verifies a key, and spends only with a cost", async () => {
  const settings = ["--permission", "documents.read", "--credits", "10", "--ip", "203.0.113.0/24"];
  const issued = expectResult(await run(["issued-key", "create", "--keyspace", keyspace.id, ...settings]));
  const verifyKey = (options: readonly string[], key = String(issued.key)) =>
    instance.command(
      ["--json", "verify", "--key-stdin", "--workspace", keyspace.workspaceId, ...options],
      `${key}\n`,
    );
  const inRange = ["--client-ip", "203.0.113.7"];
  expect(expectResult(await verifyKey([]))).toMatchObject({ valid: false, code: "FORBIDDEN" });
  expect(expectResult(await verifyKey(inRange))).toMatchObject({
    valid: true,
    keyId: issued.id,
    credits: { remaining: 10 },
  });
  const query = [...inRange, "--permissions", "documents.read AND admin"];
  expect(expectResult(await verifyKey(query))).toMatchObject({ code: "INSUFFICIENT_PERMISSIONS" });
  const spending = [...inRange, "--cost", "4", "--keyspace", keyspace.id];
  expect(expectResult(await verifyKey(spending))).toMatchObject({ valid: true, credits: { remaining: 6 } });
  expect(expectResult(await verifyKey(inRange, "acme_unknown"))).toMatchObject({ code: "NOT_FOUND" });
  expect(expectResult(await verifyKey(inRange, keyspace.callerKey))).toMatchObject({
    valid: true,
    keyspaceId: null,
  });
  const invalid = await verifyKey(["--permissions", "documents.read AND"]);
  expectFailure(invalid, { status: 2, code: "BAD_REQUEST", message: /--permissions/ });
});

test("verifies a key with named limits, and reports an unknown one with its position", async () => {
  const limitOf = (name: string) => ({ name, quota: 10, windowSeconds: 3_600, appliesAlways: false });
  const hash = createHash("sha256").update("key-with-limits").digest("hex");
  const row = { hash, limits: [limitOf("exports"), limitOf("imports")] };
  const file = join(instance.directory, "limits.ndjson");
  await writeFile(file, JSON.stringify(row));
  expectResult(await run(["import", "keys", file, "--keyspace", keyspace.id]));
  const verifyKey = (...options: readonly string[]) =>
    instance.command(
      ["--json", "verify", "--key-stdin", "--workspace", keyspace.workspaceId, ...options],
      "key-with-limits\n",
    );
  expect(expectResult(await verifyKey("--cost", "1"))).toMatchObject({ valid: true, limits: [] });
  const both = ["--limit", "exports=4", "--limit", "imports"];
  expect(expectResult(await verifyKey(...both, "--cost", "1"))).toMatchObject({
    valid: true,
    limits: [
      { name: "exports", remaining: 6 },
      { name: "imports", remaining: 9 },
    ],
  });
  const unknown = await verifyKey("--limit", "exports=4", "--limit", "emails", "--cost", "1");
  const message = "--limit 2: The key and its consumer have no limit with this name.";
  expectFailure(unknown, { status: 1, code: "BAD_REQUEST", message });
  expect(expectResult(await verifyKey("--limit", "exports"))).toMatchObject({ limits: [{ remaining: 6 }] });
  for (const options of [
    ["--limit", "exports=x"],
    ["--limit", "exports", "--limit", "exports"],
  ])
    expectFailure(await verifyKey(...options), { status: 2, code: "BAD_REQUEST", message: /--limit/ });
});
