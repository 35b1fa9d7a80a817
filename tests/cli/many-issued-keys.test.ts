import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { encodeId } from "@latchkey/db/ids";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signUp } from "../support/account.ts";
import { open } from "../support/inspection.ts";
import { getMembership } from "../support/membership.ts";
import { connectionTo } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import { runCommand } from "../support/product.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { expectResult } from "./expect-result.ts";

// One call of the command changes 1,000 keys, the most that it accepts, in the time of every call: less than 1.5 s, as a process.

const keyCount = 1_000;
const maxCallMs = 1_500;

let instance: TestInstance;
let workspaceId: string;
beforeAll(async () => {
  instance = await createPreparedInstance();
  const { baseUrl } = await instance.start();
  ({ workspaceId } = await getMembership(baseUrl, await signUp(baseUrl)));
});
afterAll(async () => {
  await instance?.close();
});

/** Runs the command as a process. Returns its result, and how long it took, in milliseconds. */
async function run(...args: readonly string[]) {
  const ending = await runCommand(["--json", ...args], { DATA_DIR: instance.dataDirectory });
  return { result: expectResult(ending), tookMs: ending.tookMs };
}

/** Creates a keyspace with 1,000 keys of one consumer. Returns its ID and theirs. */
async function fillKeyspace() {
  const { result } = await run(
    ...["keyspace", "create", "--workspace", workspaceId, "--name", "API", "--prefix", "acme"],
  );
  const keyspaceId = String(result.id);
  const rows = Array.from({ length: keyCount }, (_, number) => {
    const hash = createHash("sha256").update(`${keyspaceId}/${number}`).digest("hex");
    return JSON.stringify({ hash, externalId: "customer_7" });
  });
  const file = join(instance.directory, `${keyspaceId}.ndjson`);
  await writeFile(file, rows.join("\n"));
  await run("import", "keys", file, "--keyspace", keyspaceId);
  const client = await open(await connectionTo(instance.cluster));
  const query = "select id from issued_keys where hash = any($1) order by id";
  const hashes = rows.map((row) => Buffer.from(JSON.parse(row).hash, "hex"));
  const stored = await client.query<{ id: string }>(query, [hashes]);
  await client.end();
  return { keyspaceId, ids: stored.rows.map(({ id }) => encodeId("issuedKey", id as never)) };
}

test.each([
  ["IDs", (ids: readonly string[], _keyspaceId: string) => ids],
  [
    "their consumer",
    (_ids: readonly string[], keyspaceId: string) => [
      "--external-id",
      "customer_7",
      "--keyspace",
      keyspaceId,
    ],
  ],
])(
  "disables, enables, rotates and deletes 1,000 keys by %s, each in less than 1.5 s",
  async (name, choose) => {
    const { keyspaceId, ids } = await fillKeyspace();
    expect(ids).toHaveLength(keyCount);
    const { result: other } = await run("issued-key", "create", "--keyspace", keyspaceId);
    const changeOne = async () => (await run("issued-key", "disable", String(other.id))).tookMs;
    let beforeMs = await changeOne();
    for (const [command, member] of [
      ["disable", "changed"],
      ["enable", "changed"],
      ["rotate", "rotated"],
      ["delete", "changed"],
    ] as const) {
      const { result, tookMs } = await run("issued-key", command, ...choose(ids, keyspaceId));
      // On an idle machine, a change of one key takes 0.6 s. A busy machine delays it as well.
      const afterMs = await changeOne();
      const oneMs = Math.max(beforeMs, afterMs);
      beforeMs = afterMs;
      console.info(
        `${command} by ${name}: 1,000 keys in ${Math.round(tookMs)} ms, one in ${Math.round(oneMs)} ms`,
      );
      expect(result[member]).toHaveLength(keyCount);
      expect(tookMs).toBeLessThan(oneMs < maxCallMs / 2 ? maxCallMs : 3 * oneMs);
    }
  },
);
