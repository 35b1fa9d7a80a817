import { clientConfig, startupOptions } from "@latchkey/db/connection";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { digestKey } from "../key-format.ts";
import { KeyDirectory } from "./key-directory.ts";
import { type TestIssuedKey, type TestKeyspace, verificationOf, verifierKit } from "./verifier.test-kit.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const { addKeyspace, execute, issueKey } = verifierKit(() => database);

/** A directory that remembers about 20 issued keys, and a function that finds a key and returns the number of queries. */
async function createDirectory() {
  const client = new pg.Client({
    ...clientConfig(database.connection, "test"),
    options: startupOptions("latchkey_admission"),
  });
  await client.connect();
  onTestFinished(() => client.end());
  const directory = new KeyDirectory(1_000, 35_000);
  const observed = Object.create(client) as pg.Client; // The same client, with another `query`.
  let queries = 0;
  observed.query = ((...parameters: Parameters<pg.Client["query"]>) => {
    queries += 1;
    return client.query(...parameters);
  }) as pg.Client["query"]; // One signature for pg's overloads.
  return async ({ caller }: TestKeyspace, key: Pick<TestIssuedKey, "secret">): Promise<number> => {
    queries = 0;
    const request = {
      digest: digestKey(caller.secret),
      address: undefined,
      verifications: [verificationOf(key)],
    };
    const { found } = await directory.find(observed, [request]);
    expect(found).toHaveLength(1);
    return queries;
  };
}

test("a workspace with many keys, or many unknown keys, displaces no key of another workspace", async () => {
  const find = await createDirectory();
  const [small, large] = [await addKeyspace(), await addKeyspace()];
  const keys = await Promise.all(Array.from({ length: 5 }, () => issueKey(small)));
  for (const key of keys) expect(await find(small, key)).toBeGreaterThan(0);
  for (let index = 0; index < 60; index += 1) await find(large, await issueKey(large));
  for (let index = 0; index < 60; index += 1) await find(large, { secret: `acme_unknown${index}` });
  for (const key of keys) expect(await find(small, key)).toBe(0);
});

test("a key with much data of its own counts as more", async () => {
  const find = await createDirectory();
  const space = await addKeyspace();
  const keys = await Promise.all(Array.from({ length: 6 }, () => issueKey(space)));
  const meta = JSON.stringify({ text: "x".repeat(4_000) });
  await execute(sql`update issued_keys set meta = ${meta} where keyspace_id = ${space.keyspaceId}`);
  for (const key of keys) await find(space, key);
  const remembered = [];
  for (const key of keys.toReversed()) remembered.push((await find(space, key)) === 0);
  expect(remembered.filter(Boolean)).toHaveLength(2);
});
