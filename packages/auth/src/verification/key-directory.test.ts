import { clientConfig, startupOptions } from "@latchkey/db/connection";
import { createId } from "@latchkey/db/ids";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { sql } from "kysely";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { digestKey } from "../key-format.ts";
import { KeyDirectory } from "./key-directory.ts";
import type { Verification } from "./verification.ts";
import { type TestIssuedKey, type TestKeyspace, verificationOf, verifierKit } from "./verifier.test-kit.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const { addKeyspace, bumpOwner, execute, issueKey } = verifierKit(() => database);

/**
 * A directory that remembers about 20 issued keys, and functions that find the keys of a request. They return the number of queries
 * and the number of issued keys that were looked up.
 */
async function createDirectory(maxIssuedBytes = 35_000) {
  const client = new pg.Client({
    ...clientConfig(database.connection, "test"),
    options: startupOptions("latchkey_admission"),
  });
  await client.connect();
  onTestFinished(() => client.end());
  const directory = new KeyDirectory(1_000, maxIssuedBytes);
  const observed = Object.create(client) as pg.Client; // The same client, with another `query`.
  let [queries, lookups] = [0, 0];
  observed.query = ((query: pg.QueryConfig) => {
    queries += 1;
    if (query.name === "verify-find-issued-keys") lookups += query.values?.[0].length;
    return client.query(query);
  }) as pg.Client["query"]; // The directory uses only this signature.
  const findAll = async (
    { caller }: Pick<TestKeyspace, "caller">,
    verifications: readonly Verification[],
  ) => {
    [queries, lookups] = [0, 0];
    const request = { digest: digestKey(caller.secret), address: undefined, verifications };
    const { found } = await directory.find(observed, [request]);
    expect(found).toHaveLength(1);
    const isFound = found[0]?.targets.map((facts) => facts !== undefined) ?? [];
    return { queries, lookups, isFound };
  };
  const find = async (space: TestKeyspace, key: Pick<TestIssuedKey, "secret">): Promise<number> =>
    (await findAll(space, [verificationOf(key)])).queries;
  return { find, findAll };
}

test("an unknown key among known ones costs one lookup", async () => {
  const { findAll } = await createDirectory(100_000);
  const space = await addKeyspace();
  const keys = await Promise.all(Array.from({ length: 10 }, () => issueKey(space)));
  const known = keys.map((key) => verificationOf(key));
  const unknown = verificationOf({ secret: "acme_unknown" });
  expect(await findAll(space, known)).toMatchObject({ lookups: 10 });
  expect(await findAll(space, known)).toMatchObject({ queries: 0 });
  const isFound = [...known.map(() => true), false];
  expect(await findAll(space, [...known, unknown])).toMatchObject({ lookups: 1, isFound });
  expect(await findAll(space, [...known, unknown])).toMatchObject({ lookups: 1, isFound });
  // A known key that is verified with another keyspace than its own.
  const elsewhere = { ...verificationOf(keys[0] ?? { secret: "" }), keyspaceId: createId("keyspace") };
  expect(await findAll(space, [...known, elsewhere])).toMatchObject({ lookups: 1, isFound });
});

test("known keys are read again if the caller may no longer verify them", async () => {
  const { findAll } = await createDirectory();
  const [space, other] = [await addKeyspace(), await addKeyspace()];
  const secret = "acme_stored_twice";
  await issueKey(space, { secret });
  const verifications = [verificationOf({ secret }), verificationOf({ secret: "acme_unknown" })];
  expect(await findAll(space, verifications)).toMatchObject({ lookups: 2, isFound: [true, false] });
  // The caller moves to another workspace, which stores a key with the same secret.
  await issueKey(other, { secret });
  const { userId } = space.caller;
  await execute(sql`delete from members where user_id = ${userId}`);
  await execute(
    sql`insert into members (workspace_id, user_id, role) values (${other.workspaceId}, ${userId}, 'member')`,
  );
  await bumpOwner(userId);
  expect(await findAll(space, verifications)).toMatchObject({ lookups: 3, isFound: [true, false] });
});

test("a workspace with many keys, or many unknown keys, displaces no key of another workspace", async () => {
  const { find } = await createDirectory();
  const [small, large] = [await addKeyspace(), await addKeyspace()];
  const keys = await Promise.all(Array.from({ length: 5 }, () => issueKey(small)));
  for (const key of keys) expect(await find(small, key)).toBeGreaterThan(0);
  for (let index = 0; index < 60; index += 1) await find(large, await issueKey(large));
  for (let index = 0; index < 60; index += 1) await find(large, { secret: `acme_unknown${index}` });
  for (const key of keys) expect(await find(small, key)).toBe(0);
});

test("a key with much data of its own counts as more", async () => {
  const { find } = await createDirectory();
  const space = await addKeyspace();
  const keys = await Promise.all(Array.from({ length: 6 }, () => issueKey(space)));
  const meta = JSON.stringify({ text: "x".repeat(4_000) });
  await execute(sql`update issued_keys set meta = ${meta} where keyspace_id = ${space.keyspaceId}`);
  for (const key of keys) await find(space, key);
  const remembered = [];
  for (const key of keys.toReversed()) remembered.push((await find(space, key)) === 0);
  expect(remembered.filter(Boolean)).toHaveLength(2);
});
