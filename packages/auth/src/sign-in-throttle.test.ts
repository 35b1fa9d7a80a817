import { randomUUID } from "node:crypto";
import { createId, type UserId } from "@latchkey/db/ids";
import type { Trx } from "@latchkey/db/schema";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { createDeviceId } from "./known-device.ts";
import { type AttemptOrigin, SignInThrottle } from "./sign-in-throttle.ts";

const secret = "a secret for tests, of 32 letters or more";
let database: TestDatabase;
let throttle: SignInThrottle;
/** Another node on the same database. */
let otherNode: SignInThrottle;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  const options = { db: database.db, secret, maxSignUpsPerHour: 4 };
  throttle = new SignInThrottle(options);
  otherNode = new SignInThrottle(options);
});
afterAll(() => database.drop());
beforeEach(async () => {
  await sql`truncate throttle_buckets, sign_in_origins`.execute(database.owner);
});

const from = (address: string | null, deviceId?: string): AttemptOrigin => ({ address, deviceId });
/** An address in a separate network for each number. */
const stranger = (number: number) => from(`2001:db8:0:${number.toString(16)}::1`);
const [home, away] = [from("203.0.113.7"), from("198.51.100.9")];

/** Makes a failed attempt. Returns the seconds to wait if it was throttled, otherwise 0. */
async function fail(email: string, origin: AttemptOrigin, node = throttle): Promise<number> {
  return await node.consumeSignIn(email, origin).then(
    () => 0,
    (error: { code: string; retryAfterSeconds: number }) => {
      expect(error.code).toBe("TOO_MANY_REQUESTS");
      return error.retryAfterSeconds;
    },
  );
}

/** Makes failed attempts until one is throttled. Returns how many were allowed. */
async function exhaust(email: string, origin: AttemptOrigin): Promise<number> {
  for (let count = 0; count < 200; count += 1) if ((await fail(email, origin)) > 0) return count;
  throw new Error("No attempt was throttled.");
}

async function addUser(): Promise<{ id: UserId; email: string }> {
  const id = createId("user");
  const email = `${randomUUID()}@example.com`;
  await sql`insert into users (id, email, name) values (${id}, ${email}, 'Ada')`.execute(database.owner);
  return { id, email };
}

async function pass(seconds: number): Promise<void> {
  await sql`update throttle_buckets set full_at = full_at - make_interval(secs => ${seconds})`.execute(
    database.owner,
  );
}

test("allows ten failed attempts per email address and network, then one every 90 seconds, over all nodes", async () => {
  for (let count = 0; count < 5; count += 1) {
    expect(await fail("ada@example.com", home)).toBe(0);
    expect(await fail("ada@example.com", home, otherNode)).toBe(0);
  }
  const waitSeconds = await fail("ada@example.com", home);
  expect(await fail("ada@example.com", home, otherNode)).toBeGreaterThan(80);
  expect(waitSeconds).toBeGreaterThan(80);
  expect(waitSeconds).toBeLessThanOrEqual(90);
  await pass(waitSeconds);
  expect(await fail("ada@example.com", home)).toBe(0);
  expect(await fail("ada@example.com", home)).toBeGreaterThan(80);
});

test("concurrent attempts are counted individually", async () => {
  const waits = await Promise.all(Array.from({ length: 30 }, () => fail("ada@example.com", home)));
  expect(waits.filter((seconds) => seconds === 0)).toHaveLength(10);
});

test("a refunded attempt does not count", async () => {
  for (let count = 0; count < 20; count += 1)
    await (await throttle.consumeSignIn("ada@example.com", home)).refund();
  expect(await exhaust("ada@example.com", home)).toBe(10);
});

test("allows 50 failed attempts per network with any email addresses, without affecting another network", async () => {
  const startedAt = performance.now();
  for (let count = 0; count < 50; count += 1) expect(await fail(`${count}@example.com`, home)).toBe(0);
  const waitSeconds = await fail("ada@example.com", home);
  // The bucket has refilled since the first attempt, by one per 18 seconds.
  expect(waitSeconds).toBeGreaterThan(17 - (performance.now() - startedAt) / 1_000);
  expect(await fail("ada@example.com", away)).toBe(0);
});

test("the addresses of an IPv6 network count as one, and so do all unknown addresses", async () => {
  for (let count = 0; count < 10; count += 1)
    expect(await fail("ada@example.com", from(`2001:db8::${count}`))).toBe(0);
  expect(await fail("ada@example.com", from("2001:db8::abcd"))).toBeGreaterThan(0);
  expect(await exhaust("grace@example.com", from(null))).toBe(10);
});

test("allows 50 failed attempts per email address from many networks, then one every 72 seconds", async () => {
  for (let number = 0; number < 50; number += 1)
    expect(await fail("ada@example.com", stranger(number))).toBe(0);
  expect(await fail("ada@example.com", stranger(99))).toBeGreaterThan(60);
  expect(await fail("grace@example.com", stranger(99))).toBe(0);
  await pass(72);
  expect(await fail("ada@example.com", stranger(99))).toBe(0);
});

describe("the owner of an account", () => {
  async function addOwner() {
    const user = await addUser();
    const device = createDeviceId();
    await throttle.remember(user, { address: home.address, deviceId: device });
    return { ...user, device };
  }

  async function attackFromManyNetworks(email: string): Promise<void> {
    for (let number = 0; number < 50; number += 1) await fail(email, stranger(number));
    expect(await fail(email, stranger(99))).toBeGreaterThan(0);
  }

  test("can sign in on a known network, and elsewhere with a known device, during an attack from many networks", async () => {
    const { email, device } = await addOwner();
    await attackFromManyNetworks(email);
    expect(await fail(email, home)).toBe(0);
    expect(await fail(email, from(away.address, device))).toBe(0);
    expect(await fail(email, away)).toBeGreaterThan(0);
  });

  test("can sign in with a known device during an attack from the same network", async () => {
    const { email, device } = await addOwner();
    expect(await exhaust(email, home)).toBe(10);
    for (let number = 0; number < 60; number += 1) await fail(`${number}@example.com`, home);
    expect(await fail(email, from(home.address, device))).toBe(0);
  });

  test("can fail ten times with a known device, whose ID is not known for another account", async () => {
    const [owner, other] = [await addOwner(), await addUser()];
    expect(await exhaust(owner.email, from(home.address, owner.device))).toBe(10);
    expect(await exhaust(other.email, from(away.address, owner.device))).toBe(10);
    expect(await fail(other.email, from(away.address, createDeviceId()))).toBeGreaterThan(0);
  });

  test("keeps only the known device and network of the request with which the email address changes", async () => {
    const listKnown = async (change: (device: string) => AttemptOrigin) => {
      const { id, email: formerEmail, device } = await addOwner();
      const [phone, office] = [createDeviceId(), from("192.0.2.5")];
      await throttle.remember({ id, email: formerEmail }, { address: office.address, deviceId: phone });
      const email = `${randomUUID()}@example.com`;
      const keep = (trx: Trx) => throttle.keepKnown(trx, { id, formerEmail, email }, change(device));
      await database.db.transaction().execute(keep);
      const origins = { device: from(away.address, device), phone: from(away.address, phone), home, office };
      const known: string[] = [];
      for (const [name, origin] of Object.entries(origins)) {
        for (const address of [formerEmail, email]) {
          const { source } = await throttle.consumeSignIn(address, origin);
          if (source.knownOrigin) known.push(address === email ? name : `${name}, formerly`);
        }
      }
      return known;
    };
    expect(await listKnown(() => from(away.address, createDeviceId()))).toEqual([]);
    expect(await listKnown(() => from(null))).toEqual([]);
    expect(await listKnown((device) => from(away.address, device))).toEqual(["device"]);
    expect(await listKnown((device) => from(home.address, device))).toEqual(["device", "home"]);
    expect(await listKnown(() => home)).toEqual(["home"]);
  });

  test("has no known network if the address is unknown", async () => {
    const user = await addUser();
    await throttle.remember(user, { address: null, deviceId: createDeviceId() });
    await attackFromManyNetworks(user.email);
    expect(await fail(user.email, from(null))).toBeGreaterThan(0);
  });

  test("is a known origin of its account for the password queue, by device or otherwise by network", async () => {
    const { email, device } = await addOwner();
    const sourceOf = async (origin: AttemptOrigin) => (await throttle.consumeSignIn(email, origin)).source;
    const [byDevice, byNetwork, unknown] = [
      await sourceOf(from(away.address, device)),
      await sourceOf(home),
      await sourceOf(away),
    ];
    expect(byDevice.knownOrigin).toBe(`device of ${email}`);
    expect(byNetwork.knownOrigin).toBe(`network of ${email}`);
    expect(unknown).toEqual({ network: "198.51.100.9", knownOrigin: undefined });
  });
});

test("allows the configured number of sign-ups per network, then one per refill time", async () => {
  const signUp = (origin: AttemptOrigin) =>
    throttle.consumeSignUp(origin).then(
      () => 0,
      (error: { retryAfterSeconds: number }) => error.retryAfterSeconds,
    );
  for (let count = 0; count < 4; count += 1) expect(await signUp(from(`2001:db8::${count}`))).toBe(0);
  expect(await signUp(from("2001:db8::9"))).toBeGreaterThan(890);
  expect(await signUp(home)).toBe(0);
  await pass(900);
  expect(await signUp(from("2001:db8::9"))).toBe(0);
  expect(await signUp(from("2001:db8::9"))).toBeGreaterThan(890);
});

test("states when to try again in the message", async () => {
  await exhaust("ada@example.com", home);
  await expect(throttle.consumeSignIn("ada@example.com", home)).rejects.toThrow(
    /^Too many sign-in attempts\. Try again in (8\d|90) seconds\.$/,
  );
  for (let count = 0; count < 4; count += 1) await throttle.consumeSignUp(home);
  await expect(throttle.consumeSignUp(home)).rejects.toThrow(
    "Too many sign-up attempts. Try again in 15 minutes.",
  );
});

test("stores digests that depend on the secret, and no email address, network or device", async () => {
  const user = await addUser();
  const device = createDeviceId();
  await throttle.consumeSignIn("my password", from(home.address, device));
  await throttle.remember(user, { address: home.address, deviceId: device });
  const read = async () => {
    const { rows } = await sql<{ row: string }>`
      select encode(digest, 'escape') || ' ' || encode(digest, 'hex') as row
      from (select digest from throttle_buckets union all select digest from sign_in_origins) stored
      order by 1`.execute(database.owner);
    return rows.map(({ row }) => row);
  };
  const stored = await read();
  expect(stored).toHaveLength(5);
  for (const text of ["my password", "203.0.113.7", device, user.email])
    expect(stored.join("\n")).not.toContain(text);
  const otherSecret = new SignInThrottle({ db: database.db, secret: "x".repeat(32), maxSignUpsPerHour: 4 });
  await otherSecret.consumeSignIn("my password", from(home.address, device));
  expect(await read()).toHaveLength(8);
});
