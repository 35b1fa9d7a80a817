import { randomUUID } from "node:crypto";
import { createId, type UserId } from "@latchkey/db/ids";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { insertUserWithPassword } from "@latchkey/db/users";
import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, describe, expect, inject, test, vi } from "vitest";
import { hashPassword } from "./password.ts";
import { createSessions, type Sessions } from "./sessions.ts";

const password = "a horse that counts to ten";
const source = { network: "203.0.113.7", knownOrigin: undefined };
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

let database: TestDatabase;
let sessions: Sessions;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  sessions = createSessions({
    db: database.db,
    secret: "a secret for tests, of 32 letters or more",
    baseUrl: "http://127.0.0.1:4000",
    maxSessionsPerUser: 3,
  });
});
afterAll(async () => {
  await database.drop();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Sets the clock of this process, but no timers. */
function setNodeClock(offMs: number): void {
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + offMs });
}

async function addUser(): Promise<{ readonly userId: UserId; readonly email: string }> {
  const email = `${randomUUID()}@example.com`;
  const passwordHash = await hashPassword(password);
  const userId = await database.db
    .transaction()
    .execute((trx) => insertUserWithPassword(trx, { email, name: "Ada Lovelace", passwordHash }));
  if (!userId) throw new Error("The user was not added.");
  return { userId, email };
}

const find = (headers: Headers) => sessions.find({ headers, address: null });

/** Signs in, and returns the headers of requests in the new session. */
async function signIn(email: string, headers = new Headers()): Promise<Headers> {
  const result = await sessions.signIn({ email, password }, { headers, source, address: null });
  if (result.kind !== "opened") throw new Error("The sign-in needs a second factor.");
  const { cookies } = result.session;
  return new Headers({ Cookie: cookies[0]?.split(";")[0] ?? "" });
}

async function signedIn(): Promise<{ readonly userId: UserId; readonly headers: Headers }> {
  const { userId, email } = await addUser();
  return { userId, headers: await signIn(email) };
}

/** Reads how long the user's sessions will last, by the database's clock, in milliseconds. */
async function readRemainingMs(userId: UserId): Promise<readonly number[]> {
  const { rows } = await sql<{ ms: number }>`
    select extract(epoch from expires_at - clock_timestamp())::float8 * 1000 as ms
    from sessions where user_id = ${userId}`.execute(database.db);
  return rows.map(({ ms }) => ms);
}

async function setAge(userId: UserId, ageMs: number): Promise<void> {
  await sql`
    update sessions set created_at = clock_timestamp() - make_interval(secs => ${ageMs / 1_000})
    where user_id = ${userId}`.execute(database.db);
}

async function setRemaining(userId: UserId, remainingMs: number): Promise<void> {
  await sql`
    update sessions set expires_at = clock_timestamp() + make_interval(secs => ${remainingMs / 1_000})
    where user_id = ${userId}`.execute(database.db);
}

describe.each([
  ["right", 0],
  ["an hour ahead", hourMs],
  ["an hour behind", -hourMs],
])("on a node whose clock is %s", (_clock, offMs) => {
  test("a session starts and ends by the database's clock", async () => {
    setNodeClock(offMs);
    const { userId, headers } = await signedIn();
    const [lifetimeMs = 0] = await readRemainingMs(userId);
    expect(Math.abs(lifetimeMs - 14 * dayMs)).toBeLessThan(10_000);
    const { rows } = await sql<{ ageMs: number }>`
      select extract(epoch from clock_timestamp() - least(created_at, updated_at))::float8 * 1000 as "ageMs"
      from sessions where user_id = ${userId}`.execute(database.db);
    expect(Math.abs(rows[0]?.ageMs ?? Number.NaN)).toBeLessThan(10_000);

    await setRemaining(userId, hourMs / 2);
    expect((await find(headers))?.user.id).toBe(userId);
    await setRemaining(userId, -hourMs / 2);
    expect(await find(headers)).toBeUndefined();
    expect(await readRemainingMs(userId)).toEqual([]);
  });

  test("a session is renewed a day after its last renewal, and not earlier", async () => {
    setNodeClock(offMs);
    const { userId, headers } = await signedIn();
    await setRemaining(userId, 13 * dayMs + hourMs / 2);
    expect((await find(headers))?.cookies).toEqual([]);
    await setRemaining(userId, 13 * dayMs - hourMs / 2);
    const renewed = await find(headers);
    expect(renewed?.cookies).toEqual([expect.stringMatching(/^latchkey-session=.*Max-Age=1209600/)]);
    const cookie = new Headers({ Cookie: renewed?.cookies[0]?.split(";")[0] ?? "" });
    expect((await find(cookie))?.user.id).toBe(userId);
    const [lifetimeMs = 0] = await readRemainingMs(userId);
    expect(Math.abs(lifetimeMs - 14 * dayMs)).toBeLessThan(10_000);
  });

  test("a session that is used ends 30 days after the sign-in, and its cookie doesn't outlive it", async () => {
    setNodeClock(offMs);
    const { userId, headers } = await signedIn();
    await setAge(userId, 29 * dayMs + 12 * hourMs);
    await setRemaining(userId, hourMs);
    const renewed = await find(headers);
    const maxAge = Number(/Max-Age=(\d+)/.exec(renewed?.cookies[0] ?? "")?.[1]);
    expect(maxAge).toBeGreaterThan(12 * 3_600 - 10);
    expect(maxAge).toBeLessThanOrEqual(12 * 3_600);
    const [remainingMs = 0] = await readRemainingMs(userId);
    expect(Math.abs(remainingMs - 12 * hourMs)).toBeLessThan(10_000);
    // There is nothing left to renew.
    expect((await find(headers))?.cookies).toEqual([]);

    await setAge(userId, 30 * dayMs + hourMs / 2);
    await setRemaining(userId, dayMs);
    expect(await find(headers)).toBeUndefined();
    expect(await readRemainingMs(userId)).toEqual([]);
  });
});

test("a sign-in beyond the quota ends the oldest session", async () => {
  const { userId, email } = await addUser();
  const all: Headers[] = [];
  for (let count = 0; count < 4; count += 1) all.push(await signIn(email));
  const found = await Promise.all(all.map((headers) => find(headers)));
  expect(found.map((session) => session?.user.id)).toEqual([undefined, userId, userId, userId]);
});

test("a session that is replaced or has expired does not displace another session", async () => {
  const { userId, email } = await addUser();
  const first = await signIn(email);
  const expired = await signIn(email);
  await sql`
    update sessions set expires_at = now()
    where id = (select id from sessions where user_id = ${userId} order by created_at desc limit 1)`.execute(
    database.db,
  );
  await signIn(email);
  const replaced = await signIn(email);
  const last = await signIn(email, replaced);
  const found = await Promise.all([first, expired, replaced, last].map((headers) => find(headers)));
  expect(found.map((session) => session?.user.id)).toEqual([userId, undefined, undefined, userId]);
});

test("sign-ins at the same time don't exceed the quota", async () => {
  const { userId, email } = await addUser();
  await Promise.all(Array.from({ length: 10 }, () => signIn(email)));
  expect(await readRemainingMs(userId)).toHaveLength(3);
});

test("stores at most 256 characters of a User-Agent", async () => {
  const { userId, email } = await addUser();
  await signIn(email, new Headers({ "User-Agent": "x".repeat(300) }));
  const { rows } = await sql`select user_agent from sessions where user_id = ${userId}`.execute(database.db);
  expect(rows).toEqual([{ user_agent: "x".repeat(256) }]);
});

test("a remaining session of a disabled user is not valid", async () => {
  const { userId, headers } = await signedIn();
  // A sign-in that was in flight while the user was disabled leaves such a session.
  await sql`update users set disabled_at = now() where id = ${userId}`.execute(database.db);
  expect(await find(headers)).toBeUndefined();
});

test("no session is opened for a user who was deleted since their credential was checked", async () => {
  const opened = sessions.open(createId("user"), { headers: new Headers(), address: null });
  await expect(opened).rejects.toMatchObject({ code: "UNAUTHORIZED" });
});

test("a cookie that was tampered with is not valid", async () => {
  const { headers } = await signedIn();
  const cookie = headers.get("Cookie") ?? "";
  const forged = new Headers({
    Cookie: cookie.replace(/=(.)/, (_, first) => `=${first === "a" ? "b" : "a"}`),
  });
  expect(await find(forged)).toBeUndefined();
  expect(await find(new Headers())).toBeUndefined();
});
