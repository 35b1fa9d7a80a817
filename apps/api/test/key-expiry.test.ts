import { encodeId } from "@latchkey/db/ids";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

// The database's clock is an hour ahead of the node's, or an hour behind. The tests create a function
// clock_timestamp() that the search path finds before the one of Postgres.

const hourMs = 3_600_000;

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
  await sql`create table clock_offset (hours integer not null)`.execute(app.owner);
  await sql`insert into clock_offset values (0)`.execute(app.owner);
  await sql`grant select on clock_offset to public`.execute(app.owner);
  await sql`
    create function public.clock_timestamp() returns timestamptz language sql volatile
    as 'select pg_catalog.clock_timestamp() + hours * interval ''1 hour'' from public.clock_offset'`.execute(
    app.owner,
  );
  await sql`alter database ${sql.ref(app.database)} set search_path = public, pg_catalog`.execute(app.owner);
  // Connections that were opened before this setting still use the clock of Postgres. With a timeout,
  // pg_terminate_backend returns after they are closed; a pool could hand out a connection that is closing.
  await sql`
    select pg_terminate_backend(pid, 10000) from pg_stat_activity
    where datname = ${app.database} and pid <> pg_backend_pid()`.execute(app.owner);
});
afterAll(() => app.close());

async function setDatabaseClock(hours: number): Promise<void> {
  await sql`update clock_offset set hours = ${hours}`.execute(app.owner);
  // Throttle buckets that were filled while the clock was ahead would throttle sign-ins until that time.
  await app.owner.deleteFrom("throttle_buckets").execute();
}

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
