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
  let [isStopped, mostWaiting] = [false, 0];
  const whileRunning = async (work: () => Promise<unknown>): Promise<void> => {
    while (!isStopped) await work();
  };
  // Blocked changes are canceled at their deadline, so each is sent again to keep the connections blocked.
  const changes = Promise.all(
    users.map(({ client }) =>
      whileRunning(() => Promise.allSettled([client.apiKeys.create.mutate({ name: "CI" })])),
    ),
  );
  const watched = whileRunning(async () => {
    mostWaiting = Math.max(mostWaiting, await countWaiting(app.owner));
  });
  await expect.poll(() => mostWaiting).toBeGreaterThanOrEqual(changeConnections - 1);
  // Polls, because a busy machine can exceed the deadline of a single request.
  const readTotal = async () => (await other.client.apiKeys.list.query({})).total;
  await expect.poll(readTotal).toBe(0);
  isStopped = true;
  await watched;
  await unlock();
  await changes;
  expect(mostWaiting).toBe(changeConnections - 1);
});
