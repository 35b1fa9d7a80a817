import { randomUUID } from "node:crypto";
import { startupOptions } from "@latchkey/db/connection";
import { createId } from "@latchkey/db/ids";
import { testClientConfig } from "@latchkey/db/testing/test-connection";
import { sql } from "kysely";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { createApiKey, digestKey } from "../key-format.ts";
import { KeyDirectory } from "./key-directory.ts";
import type { Verification } from "./verification.ts";
import {
  setUpVerifierTests,
  type TestIssuedKey,
  type TestKeyspace,
  verificationOf,
} from "./verifier.test-kit.ts";

const { addKey, addKeyspace, database, execute, issueKey } = setUpVerifierTests();

/**
 * A directory that remembers about 20 issued keys, and functions that find the keys of a request. They return the number of queries
 * and the number of issued keys that were looked up.
 */
async function createDirectory(maxIssuedBytes = 35_000) {
  const client = new pg.Client({
    ...testClientConfig(database().connection, "test"),
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

test("a lookup takes as many statements for a secret that only another workspace has as for an unknown one", async () => {
  const { findAll } = await createDirectory(100_000);
  const [space, other] = [await addKeyspace(), await addKeyspace()];
  const places = [{}, { workspaceId: space.workspaceId }, { keyspaceId: space.keyspaceId }];
  const callerWithKey = async () => ({ caller: await addKey(space.caller.userId) });
  const known = await callerWithKey();
  await findAll(known, [verificationOf({ secret: "acme_unknown" })]);
  for (const place of places)
    for (const hasCaller of [true, false]) {
      const counts: number[] = [];
      for (const secret of [randomUUID(), randomUUID()]) {
        if (counts.length === 0) await issueKey(other, { secret });
        const caller = hasCaller ? known : await callerWithKey();
        const { queries, isFound } = await findAll(caller, [verificationOf({ secret }, place)]);
        expect(isFound).toEqual([false]);
        counts.push(queries);
      }
      expect(counts).toEqual(hasCaller ? [1, 1] : [2, 2]);
    }
  // The same for API keys of members of other workspaces.
  for (const { secret } of [other.caller, createApiKey()]) {
    const { queries, isFound } = await findAll(known, [verificationOf({ secret }, places[1])]);
    expect([queries, isFound]).toEqual([1, [false]]);
  }
});

test("a lookup for one caller displaces nothing that is remembered for others", async () => {
  const { find, findAll } = await createDirectory(100_000);
  const [space, other] = [await addKeyspace(), await addKeyspace()];
  const key = await issueKey(space);
  await find(space, key);
  for (let round = 0; round < 2; round += 1)
    expect(await findAll(other, [verificationOf(key)])).toMatchObject({ lookups: 1, isFound: [false] });
  expect(await find(space, key)).toBe(0);
});

test("copies that a caller reaches only in part are remembered for the caller", async () => {
  const { find, findAll } = await createDirectory(100_000);
  const [space, other] = [await addKeyspace(), await addKeyspace()];
  const key = await issueKey(space);
  await issueKey(other, key);
  for (const each of [space, other]) {
    expect(await findAll(each, [verificationOf(key)])).toMatchObject({ lookups: 1, isFound: [true] });
    expect(await find(each, key)).toBe(0);
  }
  // Each of them is remembered for the place that the caller names.
  const named = [verificationOf(key, { workspaceId: other.workspaceId })];
  expect(await findAll(other, named)).toMatchObject({ lookups: 1, isFound: [true] });
  expect(await findAll(other, named)).toMatchObject({ queries: 0, isFound: [true] });
  expect(await find(space, key)).toBe(0);
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

test("a key with many IP ranges counts as more", async () => {
  const { findAll } = await createDirectory(30_000);
  const space = await addKeyspace();
  const [few, many] = [await issueKey(space), await issueKey(space)];
  const rangesOf = (count: number) => Array.from({ length: count }, (_, host) => `192.0.2.${host}/32`);
  await execute(sql`update issued_keys set ip_ranges = ${rangesOf(50)} where id = ${few.id}`);
  await execute(sql`update issued_keys set ip_ranges = ${rangesOf(100)} where id = ${many.id}`);
  const lookUp = (key: TestIssuedKey) => findAll(space, [verificationOf(key)]);
  for (const key of [few, many]) expect(await lookUp(key)).toMatchObject({ lookups: 1, isFound: [true] });
  expect(await lookUp(few)).toMatchObject({ lookups: 0, isFound: [true] });
  expect(await lookUp(many)).toMatchObject({ lookups: 1, isFound: [true] });
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
