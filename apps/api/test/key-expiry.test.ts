import { encodeId } from "@latchkey/db/ids";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { installDatabaseClock, type SetDatabaseClock } from "./database-clock.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

// The database's clock is an hour ahead of the node's, or an hour behind.

const hourMs = 3_600_000;

let app: TestApp;
let setDatabaseClock: SetDatabaseClock;
beforeAll(async () => {
  app = await startTestApp();
  setDatabaseClock = await installDatabaseClock(app);
});
afterAll(() => app.close());

/** The time `hours` from now, by the node's clock. */
function addHours(hours: number): string {
  return new Date(Date.now() + hours * hourMs).toISOString();
}

async function signIn() {
  const { client } = openClient(app.baseUrl);
  const { userId, email } = await app.addUser();
  await client.session.signIn.mutate({ email, password });
  return { client, userId };
}

async function edit(expiresAt: string): Promise<{ status: number; body: unknown }> {
  const { id, secret } = await app.addKey();
  const response = await fetch(`${app.baseUrl}/open/api-keys/${encodeId("key", id)}`, {
    method: "PATCH",
    headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
    body: JSON.stringify({ expiresAt }),
  });
  return { status: response.status, body: await response.json() };
}

const pastIssue = { path: "expiresAt", code: "not_in_future", message: "Enter a future date." };

describe("with a database clock that is an hour ahead of the node's", () => {
  beforeAll(() => setDatabaseClock(1));

  test("an expiry that is in the future only by the node's clock is rejected", async () => {
    const { client } = await signIn();
    const settings = { expiresAt: addHours(0.5) };
    const rejection = { data: { code: "BAD_REQUEST", issues: [pastIssue] } };
    await expect(client.apiKeys.create.mutate({ name: "CI", settings })).rejects.toMatchObject(rejection);
    const { id } = await client.apiKeys.create.mutate({ name: "CI" });
    await expect(client.apiKeys.update.mutate({ id, settings })).rejects.toMatchObject(rejection);
    expect(await edit(settings.expiresAt)).toMatchObject({
      status: 400,
      body: { error: { code: "BAD_REQUEST", issues: [pastIssue] } },
    });
  });

  test("a duration starts at the database's time", async () => {
    const { client } = await signIn();
    const settings = { expiresAt: { inSeconds: 1_800 } };
    const startedAt = Date.now();
    const { id } = await client.apiKeys.create.mutate({ name: "CI", settings });
    const { expiresAt } = await client.apiKeys.get.query({ id });
    const lengthMs = Date.parse(expiresAt ?? "") - hourMs - 1_800_000;
    expect(lengthMs).toBeGreaterThanOrEqual(startedAt - 1);
    expect(lengthMs).toBeLessThanOrEqual(Date.now() + 1);
  });
});

describe("with a database clock that is an hour behind the node's", () => {
  beforeAll(() => setDatabaseClock(-1));

  test("an expiry that is in the past only by the node's clock is accepted", async () => {
    const { client } = await signIn();
    const expiresAt = addHours(-0.5);
    const { id } = await client.apiKeys.create.mutate({ name: "CI", settings: { expiresAt } });
    expect(await client.apiKeys.get.query({ id })).toMatchObject({ expiresAt });
    const { id: other } = await client.apiKeys.create.mutate({ name: "CI" });
    expect(await client.apiKeys.update.mutate({ id: other, settings: { expiresAt } })).toMatchObject({
      expiresAt,
    });
    expect(await edit(expiresAt)).toMatchObject({ status: 200, body: { expiresAt } });
  });
});
