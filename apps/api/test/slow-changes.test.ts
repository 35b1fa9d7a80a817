import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { afterAll, beforeAll, expect, test } from "vitest";
import { holdLocks } from "./table-locks.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

async function signIn() {
  const { userId, email } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  return { userId, client };
}

test("in the web app, blocked changes of many users leave a connection for the sessions of others", async () => {
  const { changeConnections } = app.services;
  const users = await Promise.all(Array.from({ length: changeConnections }, signIn));
  const other = await signIn();
  const userIds = users.map(({ userId }) => userId);
  // Every change locks its user.
  const unlock = await holdLocks(app.database, "select from users where id = any($1::uuid[]) for update", [
    userIds,
  ]);
  const changes = Promise.all(users.map(({ client }) => client.apiKeys.create.mutate({ name: "CI" })));
  await expect.poll(() => countWaiting(app.owner)).toBe(changeConnections - 1);
  expect((await other.client.apiKeys.list.query({})).total).toBe(0);
  expect(await countWaiting(app.owner)).toBe(changeConnections - 1);
  await unlock();
  await changes;
});
