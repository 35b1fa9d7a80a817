import { createId, encodeId } from "@latchkey/db/ids";
import { Purger } from "@latchkey/db/purger";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

async function call(secret: string, path: string) {
  const headers = { Authorization: `Bearer ${secret}`, "X-Request-Id": "same" };
  const response = await fetch(`${app.baseUrl}/open${path}`, { headers });
  const { date: _date, ...sent } = Object.fromEntries(response.headers);
  return { status: response.status, headers: sent, body: await response.text() };
}

test("a purged key is treated like a key that never existed, as a credential and as a resource", async () => {
  const key = await app.addKey();
  const reader = await app.addKey(key.userId);
  const read = () => call(reader.secret, `/api-keys/${encodeId("key", key.id)}`);
  await app.deleteKey(key);
  const beforePurge = await call(key.secret, "/me");
  expect((await read()).status).toBe(404);

  const connection = { ...inject("postgres"), database: app.database };
  const purger = new Purger({ connection, historyDays: 0 });
  await purger.run();
  await purger.close();
  const rows = await app.owner.selectFrom("api_keys").select("id").where("id", "=", key.id).execute();
  expect(rows).toEqual([]);

  const unknownKey = `lk_${"0".repeat(36)}`;
  expect(await call(key.secret, "/me")).toEqual(await call(unknownKey, "/me"));
  expect(await call(key.secret, "/me")).toEqual(beforePurge);
  expect(await read()).toEqual(await call(reader.secret, `/api-keys/${encodeId("key", createId("key"))}`));
  expect((await read()).status).toBe(403);
});
