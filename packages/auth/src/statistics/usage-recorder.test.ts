import { randomUUID } from "node:crypto";
import { createId, type WorkspaceId } from "@latchkey/db/ids";
import { listKeyAddresses, listKeyRejections } from "@latchkey/db/key-history";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { admitted, limited, recorderKit, rejected, request, workspaceId } from "./usage-recorder.test-kit.ts";

// What is recorded about requests.

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const { openRecorder, readHours, addOldSecret } = recorderKit(() => database);

test("adds up requests by outcome over several flushes and two concurrent recorders", async () => {
  const keyId = createId("key");
  const recorders = [openRecorder().recorder, openRecorder().recorder];
  for (let round = 0; round < 5; round += 1) {
    for (const recorder of recorders) {
      for (let count = 0; count < 10; count += 1) recorder.record(admitted(keyId), request);
      recorder.record(limited(keyId), request);
      recorder.record(rejected(keyId, "no-permission"), request);
      recorder.record(rejected(keyId, "expired"), request);
    }
    await Promise.all(recorders.map((recorder) => recorder.flush()));
  }
  const hour = new Date("2026-03-02T12:00:00Z");
  expect(await readHours(keyId)).toEqual([
    { hour, workspaceId, outcome: "admitted", count: 100 },
    // A request with an unusable key proves no membership of the workspace.
    { hour, workspaceId: null, outcome: "expired", count: 10 },
    { hour, workspaceId, outcome: "limited", count: 10 },
    { hour, workspaceId, outcome: "no-permission", count: 10 },
  ]);
});

test("counts rejected requests under no workspace unless they prove that the user is a member of it", async () => {
  const keyId = createId("key");
  const { recorder } = openRecorder();
  for (const reason of ["no-member", "workspace-not-in-key", "deleted", "address"] as const)
    for (let count = 0; count < 5; count += 1)
      recorder.record(rejected(keyId, reason), { ...request, workspaceId: randomUUID() as WorkspaceId });
  recorder.record(admitted(keyId), { ...request, workspaceId: undefined });
  await recorder.flush();
  const rows = await readHours(keyId);
  expect(rows.map(({ outcome, workspaceId, count }) => [outcome, workspaceId, count])).toEqual([
    ["address", null, 5],
    ["admitted", null, 1],
    ["deleted", null, 5],
    ["no-member", null, 5],
    ["workspace-not-in-key", null, 5],
  ]);
});

test("requests that are counted before the hour changes stay in their hour, even if they are written later", async () => {
  const keyId = createId("key");
  const { recorder, clock, advance } = openRecorder();
  clock.now = new Date("2026-03-02T12:59:59.500Z");
  await recorder.flush();
  for (let count = 0; count < 3; count += 1) recorder.record(admitted(keyId), request);
  await database.setAvailable(false);
  await advance(1);
  recorder.record(admitted(keyId), request);
  await database.setAvailable(true);
  await advance(1);
  expect((await readHours(keyId)).map(({ hour, count }) => [hour.toISOString(), count])).toEqual([
    ["2026-03-02T12:00:00.000Z", 3],
    ["2026-03-02T13:00:00.000Z", 1],
  ]);
});

test("does not record requests with tokens that no key has, or requests without an answer", async () => {
  const { recorder } = openRecorder();
  await sql`truncate key_usage_hours, key_addresses, key_refusals`.execute(database.owner);
  recorder.record({ kind: "rejected", reason: "unknown", presented: undefined }, request);
  recorder.record({ kind: "rejected", reason: "malformed", presented: undefined }, request);
  recorder.record({ kind: "unavailable", retryAfterSeconds: 1 }, request);
  await recorder.flush();
  for (const table of ["key_usage_hours", "key_addresses", "key_refusals"])
    expect((await sql`select from ${sql.table(table)}`.execute(database.owner)).rows, table).toEqual([]);
});

test("keeps the last five addresses of allowed requests with a key, and none of rejected requests", async () => {
  const keyId = createId("key");
  const { recorder, advance } = openRecorder();
  for (const end of [1, 2, 3]) {
    recorder.record(admitted(keyId), { ...request, address: `192.0.2.${end}` });
    await advance(1);
  }
  // Six in one flush, of which the latest five are written, and two of them again.
  for (const end of [4, 5, 6, 7, 8, 9, 4])
    recorder.record(admitted(keyId), { ...request, address: `192.0.2.${end}` });
  recorder.record(admitted(keyId), { ...request, address: undefined });
  recorder.record(rejected(keyId, "address"), { ...request, address: "198.51.100.1" });
  await advance(1);
  const addresses = await listKeyAddresses(database.db, keyId);
  expect(addresses.map(({ address }) => address).sort()).toEqual(
    [4, 6, 7, 8, 9].map((end) => `192.0.2.${end}`),
  );
});

test("an address is written again only if it is seen again after a minute", async () => {
  const keyId = createId("key");
  const { recorder, advance } = openRecorder();
  const seenAt = async () => (await listKeyAddresses(database.db, keyId))[0]?.lastSeenAt.toISOString();
  recorder.record(admitted(keyId), request);
  await advance(59);
  recorder.record(admitted(keyId), request);
  await advance(1);
  expect(await seenAt()).toBe("2026-03-02T12:00:00.000Z");
  recorder.record(admitted(keyId), request);
  await advance(1);
  expect(await seenAt()).toBe("2026-03-02T12:01:00.000Z");
});

test("keeps the latest 100 rejected requests of a key with all their details", async () => {
  const [keyId, other] = [createId("key"), createId("key")];
  const { recorder, clock } = openRecorder();
  for (let place = 0; place < 130; place += 1) {
    clock.now = new Date(clock.now.getTime() + 1);
    recorder.record(rejected(keyId, "expired"), { ...request, requestId: `request ${place}` });
  }
  recorder.record(limited(other), { ...request, address: undefined, path: `/open/\0${"x".repeat(10_000)}` });
  await recorder.flush();
  const rejections = await listKeyRejections(database.db, keyId);
  const places = Array.from({ length: 100 }, (_, index) => `request ${index + 30}`);
  expect(rejections.map(({ requestId }) => requestId).sort()).toEqual(places.sort());
  expect(rejections.find(({ requestId }) => requestId === "request 99")).toEqual({
    id: expect.any(String),
    occurredAt: new Date("2026-03-02T12:00:00.100Z"),
    address: "192.0.2.1",
    method: "GET",
    path: "/open/members",
    requestId: "request 99",
    reason: "expired",
  });
  const path = `/open/${"x".repeat(494)}`;
  expect(await listKeyRejections(database.db, other)).toMatchObject([
    { reason: "limited", address: null, path },
  ]);
});

test("records when an old secret was last used, accurate to one minute", async () => {
  const { keyId, digest, read } = await addOldSecret();
  const { recorder, advance } = openRecorder();
  const none = { rejectedAt: null, rejectedAddress: null };
  recorder.record(admitted(keyId), request);
  await advance(0);
  expect(await read()).toEqual({ usedAt: null, ...none });
  recorder.record(admitted(keyId, digest), request);
  await advance(30);
  recorder.record(admitted(keyId, digest), request);
  await advance(30);
  expect(await read()).toEqual({ usedAt: new Date("2026-03-02T12:00:00Z"), ...none });
  recorder.record(admitted(keyId, digest), request);
  await advance(0);
  expect(await read()).toEqual({ usedAt: new Date("2026-03-02T12:01:00Z"), ...none });
});

test("marks an old secret that is rejected after its overlap, and none that is rejected for another reason", async () => {
  const { keyId, digest, read } = await addOldSecret();
  const { recorder, clock } = openRecorder();
  recorder.record(rejected(keyId, "user-disabled", digest), request);
  await recorder.flush();
  expect(await read()).toEqual({ usedAt: null, rejectedAt: null, rejectedAddress: null });
  recorder.record(rejected(keyId, "rotated-out", digest), request);
  clock.now = new Date("2026-03-02T12:00:05Z");
  recorder.record(rejected(keyId, "rotated-out", digest), { ...request, address: "192.0.2.9" });
  await recorder.flush();
  expect(await read()).toEqual({ usedAt: null, rejectedAt: clock.now, rejectedAddress: "192.0.2.9" });
});
