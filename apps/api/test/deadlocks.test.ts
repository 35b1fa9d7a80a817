// A change that Postgres rolls back because it deadlocked with another transaction.

import type { IssuedKeyId } from "@latchkey/db/ids";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { testClientConfig } from "@latchkey/db/testing/test-connection";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { createIssuedKeyClient } from "./issued-key-client.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const { addSpace, addKey, readCounter } = createIssuedKeyClient(() => app);

/** Starts a transaction that never looks for deadlocks itself, so that Postgres aborts the product's transaction. */
async function begin(): Promise<pg.Client> {
  const client = new pg.Client({
    ...testClientConfig(inject("postgres"), "test locker"),
    database: app.database,
  });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("begin; set local deadlock_timeout = '10min'");
  return client;
}

function lock(client: pg.Client, id: IssuedKeyId): Promise<unknown> {
  return client.query("select from issued_keys where id = $1 for update", [id]);
}

/** Creates three keys, and runs a change that locks them in this order so that it deadlocks. */
async function runInDeadlock<Outcome>(
  space: Awaited<ReturnType<typeof addSpace>>,
  change: (keyIds: string[]) => Promise<Outcome>,
): Promise<{ outcome: Outcome; uuids: readonly IssuedKeyId[] }> {
  const keys = [await addKey(space), await addKey(space), await addKey(space)] as const;
  const [first, second, third] = keys;
  const [gate, other] = [await begin(), await begin()];
  await lock(gate, second.uuid);
  await lock(other, third.uuid);
  const changing = change(keys.map(({ id }) => id));
  await expect.poll(() => countWaiting(app.owner), { interval: 5 }).toBe(1); // The change waits for the second key.
  const waiting = lock(other, first.uuid);
  await expect.poll(() => countWaiting(app.owner), { interval: 5 }).toBe(2);
  await gate.query("commit");
  const outcome = await changing;
  await waiting; // The lock of the first key is free, because the change was rolled back.
  await other.query("rollback");
  return { outcome, uuids: keys.map(({ uuid }) => uuid) };
}

async function readVersions(uuids: readonly IssuedKeyId[]): Promise<unknown[]> {
  return await Promise.all(uuids.map(async (uuid) => (await readCounter(uuid))?.version));
}

test("in the open API, a deadlock is 503 with Retry-After and changes nothing", async () => {
  const space = await addSpace();
  const { outcome, uuids } = await runInDeadlock(space, async (keyIds) => {
    const { team, id } = space;
    const response = await fetch(`${app.baseUrl}/open${team.path}/keyspaces/${id}/keys/bulk`, {
      method: "POST",
      headers: { Authorization: `Bearer ${team.owner.secret}`, "Content-Type": "application/json" },
      body: JSON.stringify({ action: "disable", keyIds }),
    });
    return [response.status, response.headers.get("retry-after"), await response.json()];
  });
  expect(outcome).toEqual([503, "1", { error: expect.objectContaining({ code: "SERVICE_UNAVAILABLE" }) }]);
  expect(await readVersions(uuids)).toEqual([1, 1, 1]);
});

test("in the web app, a deadlock is 503 with Retry-After, changes nothing and is logged as a warning", async () => {
  const space = await addSpace();
  const { client } = space.team.owner;
  const { outcome, uuids } = await runInDeadlock(space, (keyIds) =>
    client.issuedKeyBulk.change
      .mutate({
        workspaceId: space.team.id,
        keyspaceId: space.id,
        change: { action: "disable", keyIds },
      })
      .catch((error: unknown) => error),
  );
  expect(outcome).toMatchObject({ data: { code: "SERVICE_UNAVAILABLE", httpStatus: 503 } });
  const { response } = (outcome as { meta: { response: Response } }).meta; // The client attaches the response.
  expect(response.headers.get("retry-after")).toBe("1");
  expect(await readVersions(uuids)).toEqual([1, 1, 1]);
  const entries = app
    .readLog()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
    .filter(({ source, code }) => source === "web app" && code === "40P01");
  expect(entries).toMatchObject([{ level: 40, msg: "The service is temporarily unavailable" }]);
  expect(app.readLog()).not.toContain("the database is unavailable");
});
