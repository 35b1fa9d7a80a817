import {
  type ConsumerId,
  createId,
  type IssuedKeyId,
  type KeyspaceId,
  type WorkspaceId,
} from "@latchkey/db/ids";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { otherTags } from "@latchkey/db/write-keyspace-history";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { VerificationCode, VerificationResult } from "../verification/verification.ts";
import { admitted, recorderKit, request } from "./usage-recorder.test-kit.ts";
import { VerificationStatistics } from "./verification-statistics.ts";

// What is recorded about verifications of issued keys.

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const { openRecorder, readHours } = recorderKit(() => database);

interface TestKey {
  readonly keyId: IssuedKeyId;
  readonly keyspaceId: KeyspaceId;
  readonly workspaceId: WorkspaceId;
  readonly consumerId: ConsumerId | null;
}

function createKey(change: Partial<TestKey> = {}): TestKey {
  return {
    keyId: createId("issuedKey"),
    keyspaceId: createId("keyspace"),
    workspaceId: createId("workspace"),
    consumerId: null,
    ...change,
  };
}

function resultOf(
  key: Omit<TestKey, "keyspaceId"> & { readonly keyspaceId: KeyspaceId | null },
  code: Exclude<VerificationCode, "NOT_FOUND">,
  isUse = code === "VALID",
): VerificationResult {
  const described = { externalId: null, name: "", meta: {}, permissions: [], expiresAt: null };
  return {
    code,
    key: { ...described, ...key },
    limits: [],
    remainingCredits: null,
    isUse,
    apiKeyUse: undefined,
  };
}

const verification = { tags: [] as string[], clientAddress: undefined };

const readCounts = (subjectId: IssuedKeyId | KeyspaceId | ConsumerId) =>
  database.owner
    .selectFrom("keyspace_usage_hours")
    .select(["hour", "outcome", "count"])
    .where("subject_id", "=", subjectId)
    .orderBy("hour")
    .orderBy("outcome")
    .execute();

const readTags = (keyspaceId: KeyspaceId) =>
  database.owner
    .selectFrom("keyspace_tag_hours")
    .select(["tag", "count", "use_count as useCount"])
    .where("keyspace_id", "=", keyspaceId)
    .orderBy("tag")
    .execute();

const hour = new Date("2026-03-02T12:00:00Z");

test("adds up verifications by outcome, of keys, consumers and keyspaces, on two nodes", async () => {
  const recorders = [openRecorder().recorder, openRecorder().recorder];
  const consumerId = createId("consumer");
  const one = createKey({ consumerId });
  const other = { ...one, keyId: createId("issuedKey"), consumerId: null };
  for (const recorder of recorders) {
    for (let count = 0; count < 3; count += 1)
      recorder.recordVerifications(
        [verification, verification, verification, verification],
        [
          resultOf(one, "VALID"),
          resultOf(one, "VALID", false),
          resultOf(other, "VALID"),
          { code: "NOT_FOUND" },
        ],
        "request",
      );
    recorder.recordVerifications([verification], [resultOf(other, "RATE_LIMITED")], "request");
  }
  await Promise.all(recorders.map((recorder) => recorder.flush()));
  const ofOne = [
    { hour, outcome: "CHECKED", count: 6 },
    { hour, outcome: "VALID", count: 6 },
  ];
  expect(await readCounts(one.keyId)).toEqual(ofOne);
  expect(await readCounts(consumerId)).toEqual(ofOne);
  expect(await readCounts(other.keyId)).toEqual([
    { hour, outcome: "RATE_LIMITED", count: 2 },
    { hour, outcome: "VALID", count: 6 },
  ]);
  expect(await readCounts(one.keyspaceId)).toEqual([
    { hour, outcome: "CHECKED", count: 6 },
    { hour, outcome: "RATE_LIMITED", count: 2 },
    { hour, outcome: "VALID", count: 12 },
  ]);
});

test("records neither unknown keys nor API keys, whose uses are requests", () => {
  const statistics = new VerificationStatistics(() => hour.getTime());
  const tagged = { ...verification, tags: ["a"] };
  statistics.record(tagged, resultOf({ ...createKey(), keyspaceId: null }, "EXPIRED"), "one");
  statistics.record(tagged, { code: "NOT_FOUND" }, "one");
  expect(statistics.pendingCount).toBe(0);
});

test("counts tags, and those beyond 100 in an hour together", async () => {
  const { recorder, advance } = openRecorder();
  const key = createKey();
  const record = (tags: string[], code: "VALID" | "EXPIRED" = "VALID") =>
    recorder.recordVerifications([{ ...verification, tags }], [resultOf(key, code)], "one");
  for (let place = 0; place < 105; place += 1) record([`tag-${place}`, "all"]);
  record(["tag-104", "tag-0"], "EXPIRED");
  await recorder.flush();
  const tags = await readTags(key.keyspaceId);
  // "all" is the second of them, so the other 99 have numbers.
  expect(tags).toHaveLength(101);
  expect(tags).toContainEqual({ tag: otherTags, count: 105 - 99 + 1, useCount: 105 - 99 });
  expect(tags).toContainEqual({ tag: "all", count: 105, useCount: 105 });
  expect(tags).toContainEqual({ tag: "tag-0", count: 2, useCount: 1 });
  await advance(3_600);
  record(["tag-104"]);
  await recorder.flush();
  expect(await readTags(key.keyspaceId)).toContainEqual({ tag: "tag-104", count: 1, useCount: 1 });
});

test("keeps rejected verifications, whose texts are short", async () => {
  const { recorder } = openRecorder();
  const key = createKey();
  recorder.recordVerifications(
    [{ ...verification, clientAddress: "192.0.2.7" }, verification],
    [resultOf(key, "FORBIDDEN"), resultOf(key, "VALID")],
    `long\0 ${"x".repeat(1_000)}`,
  );
  await recorder.flush();
  const rows = await database.owner
    .selectFrom("issued_key_rejections")
    .select([
      "workspace_id as workspaceId",
      "code",
      "address",
      "occurred_at as occurredAt",
      "request_id as requestId",
    ])
    .where("key_id", "=", key.keyId)
    .execute();
  expect(rows).toEqual([
    {
      workspaceId: key.workspaceId,
      code: "FORBIDDEN",
      address: "192.0.2.7",
      occurredAt: hour,
      requestId: `long ${"x".repeat(195)}`,
    },
  ]);
});

test("a workspace with many keys and tags leaves room for others", () => {
  const statistics = new VerificationStatistics(() => hour.getTime());
  const record = (key: TestKey, tags: string[] = []) =>
    statistics.record({ ...verification, tags }, resultOf(key, "VALID"), "one");
  const busy = createKey();
  // Nothing here reads an ID.
  for (let place = 0; place < 60_000; place += 1) record({ ...busy, keyId: `key ${place}` as IssuedKeyId });
  // The verifications of the other keys have one counter, of their keyspace.
  const ofKeys = 25_000 + 1;
  expect(statistics.pendingCount).toBe(ofKeys);
  for (let place = 0; place < 100; place += 1) {
    const key = { ...busy, keyspaceId: `keyspace ${place}` as KeyspaceId };
    for (let tag = 0; tag < 200; tag += 1) record(key, [`tag ${tag}`]);
  }
  expect(statistics.pendingCount).toBe(ofKeys + 100 + 5_000);
  record(createKey(), ["tag"]);
  expect(statistics.pendingCount).toBe(ofKeys + 100 + 5_000 + 2);
});

test("verifications of keys beyond those that can wait are counted for the keyspace and the workspace", async () => {
  const { recorder, failures } = openRecorder();
  const first = createKey();
  const record = (key: TestKey) =>
    recorder.recordVerifications([verification], [resultOf(key, "VALID")], "one");
  for (let place = 0; place < 25_000; place += 1) record({ ...first, keyId: createId("issuedKey") });
  const last = { ...first, keyId: createId("issuedKey") };
  for (let count = 0; count < 10; count += 1) record(last);
  await recorder.flush();
  // A write has 2,000 counters of keys.
  const written = [{ hour, outcome: "VALID", count: 2_000 + 10 }];
  expect(await readCounts(first.keyspaceId)).toEqual(written);
  const ofWorkspace = await database.owner
    .selectFrom("keyspace_usage_hours")
    .select(["hour", "outcome", "count"])
    .where("workspace_id", "=", first.workspaceId)
    .whereRef("subject_id", "=", "workspace_id")
    .execute();
  expect(ofWorkspace).toEqual(written);
  expect(await readCounts(last.keyId)).toEqual([]);
  expect(failures).toEqual([]);
});

test("verifications that can't be written don't affect the statistics of requests, and the other way around", async () => {
  const { recorder, failures } = openRecorder();
  const key = createKey();
  const apiKeyId = createId("key");
  const invalid = createKey({ keyId: "no UUID" as IssuedKeyId }); // What Postgres rejects.
  recorder.recordVerifications([verification], [resultOf(invalid, "VALID")], "one");
  recorder.record(admitted(apiKeyId), request);
  await recorder.flush();
  expect(await readHours(apiKeyId)).toMatchObject([{ count: 1 }]);
  expect(failures).toHaveLength(1);
  recorder.recordVerifications([verification], [resultOf(key, "VALID")], "one");
  await recorder.flush();
  expect(await readCounts(key.keyId)).toMatchObject([{ count: 1 }]);
});

test("verifications are kept while the database is unavailable", async () => {
  const { recorder, advance } = openRecorder();
  const key = createKey();
  const record = () => recorder.recordVerifications([verification], [resultOf(key, "EXPIRED")], "one");
  record();
  await database.setAvailable(false);
  await advance(1);
  record();
  await database.setAvailable(true);
  await advance(1);
  expect(await readCounts(key.keyId)).toMatchObject([{ outcome: "EXPIRED", count: 2 }]);
});
