import { encodeId, type KeyId, type UserId } from "@latchkey/db/ids";
import type { KeySettings } from "@latchkey/db/key-settings";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { createKey } from "../src/domain/api-key-edits.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { createOpenClient } from "./open-client.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

// Retries of a rotation whose response was lost.

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

interface Key {
  readonly userId: UserId;
  readonly keyId: KeyId;
  /** The ID in API responses. */
  readonly id: string;
  readonly secret: string;
}

async function addKey(settings: Partial<KeySettings> = {}, ofUser?: UserId): Promise<Key> {
  const userId = ofUser ?? (await app.addUser()).userId;
  const key = { userId, name: "key", description: "", settings, origin: commandOrigin };
  const { id: keyId, secret } = await app.services.db
    .transaction()
    .execute((trx) => createKey(trx, key, defaultQuotas));
  return { userId, keyId, id: encodeId("key", keyId), secret };
}

interface Rotation {
  readonly secret: string;
  /** The ID of the key to rotate. */
  readonly id: string;
  readonly name?: string;
  readonly overlapSeconds?: number;
}

async function rotate({ secret, id, name = "rotation", overlapSeconds = 3_600 }: Rotation) {
  const response = await fetch(`${app.baseUrl}/open/api-keys/${id}/rotate`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${secret}`,
      "Content-Type": "application/json",
      ...(name === "" ? {} : { "Idempotency-Key": name }),
    },
    body: JSON.stringify({ overlapSeconds }),
  });
  const body = (await response.json()) as { readonly key?: string; readonly secretStatus?: string };
  return {
    status: response.status,
    replayed: response.headers.get("idempotent-replayed"),
    key: body.key ?? "",
    etag: response.headers.get("etag") ?? "",
    body,
  };
}

const { send, statusOf } = createOpenClient(() => app);

const statusesOf = (...secrets: readonly string[]) => Promise.all(secrets.map(statusOf));

async function readOverlaps({ keyId }: Key): Promise<readonly string[]> {
  const { rows } = await sql<{ until: string }>`
    select good_until::text as until from retired_secrets
    where key_id = ${keyId} and good_until > clock_timestamp() order by retired_at`.execute(app.owner);
  return rows.map(({ until }) => until);
}

const reissued = { status: 200, replayed: "true", body: { secretStatus: "reissued" } };
const omitted = { status: 200, replayed: "true", body: { secretStatus: "omitted" } };
const forbidden = { status: 403, body: { error: { code: "FORBIDDEN", message: "Insufficient access" } } };

test("a retry with the old secret gets a new secret, which replaces the lost one", async () => {
  const key = await addKey();
  const lost = await rotate(key);
  expect(lost).toMatchObject({ status: 200, replayed: null, body: { secretStatus: "issued" } });
  const overlaps = await readOverlaps(key);
  const retried = await rotate(key);
  expect(retried).toMatchObject(reissued);
  expect(await statusesOf(lost.key, retried.key, key.secret)).toEqual([403, 200, 200]);
  expect(overlaps).toHaveLength(1);
  expect(await readOverlaps(key)).toEqual(overlaps);
});

test("each retry replaces the secret of the previous retry until a secret is used", async () => {
  const key = await addKey();
  const secrets = [await rotate(key), await rotate(key), await rotate(key)].map((answer) => answer.key);
  expect(new Set(secrets).size).toBe(3);
  expect(await statusesOf(...secrets)).toEqual([403, 403, 200]);
  expect(await rotate(key)).toMatchObject(omitted);
  const { body } = await rotate(key);
  expect(body).toMatchObject({ id: key.id, start: secrets[2]?.slice(0, 9), secretStatus: "omitted" });
  expect(body).not.toHaveProperty("key");
  expect(await statusesOf(...secrets)).toEqual([403, 403, 200]);
});

test("a rotation has the whole key and its ETag, also when it is retried", async () => {
  const key = await addKey();
  const { secret } = await addKey({}, key.userId);
  const read = () => send(secret, ["GET", `/api-keys/${key.id}`]);
  const attempts = [];
  for (const secretStatus of ["issued", "reissued"]) {
    const attempt = await rotate({ ...key, secret });
    const { body, etag } = await read();
    expect(attempt.body).toEqual({ ...body, key: expect.any(String), secretStatus });
    expect([attempt.etag, body.start]).toEqual([etag, attempt.key.slice(0, 9)]);
    attempts.push(attempt);
  }
  expect(await statusOf(attempts[1]?.key ?? "")).toBe(200);
  const late = await rotate({ ...key, secret });
  const { key: _key, ...shown } = attempts[1]?.body ?? {};
  expect([late.etag, late.body]).toEqual([attempts[1]?.etag, { ...shown, secretStatus: "omitted" }]);
  const change = await send(
    secret,
    ["PATCH", `/api-keys/${key.id}`],
    { name: "x" },
    { "If-Match": late.etag },
  );
  expect(change.status).toBe(200);
});

test("without an overlap, a retry with another key of the user gets a new secret", async () => {
  const key = await addKey();
  const { secret } = await addKey({}, key.userId);
  const lost = await rotate({ ...key, overlapSeconds: 0 });
  expect(await rotate({ ...key, overlapSeconds: 0 })).toMatchObject(forbidden);
  const retried = await rotate({ ...key, secret, overlapSeconds: 0 });
  expect(retried).toMatchObject(reissued);
  expect(await statusesOf(lost.key, retried.key, key.secret)).toEqual([403, 200, 403]);
});

test("a retry with the new secret gets no other secret, because the retry itself uses it", async () => {
  const key = await addKey();
  const { key: secret } = await rotate(key);
  expect(await rotate({ ...key, secret })).toMatchObject(omitted);
  expect(await statusOf(secret)).toBe(200);
});

test("a retry gets no other secret after a valid verification with cost 0, even if the key was never used", async () => {
  const key = await addKey();
  const { secret } = await addKey({}, key.userId);
  const issued = await rotate({ ...key, secret });
  const { body } = await send(secret, ["POST", "/workspaces"], { name: "Team" });
  const verification = { key: issued.key, workspaceId: body.id, cost: 0 };
  const verified = await send(secret, ["POST", "/keys/verify"], verification);
  expect(verified.body).toMatchObject({ code: "VALID", keyId: key.id });
  expect(await rotate({ ...key, secret })).toMatchObject(omitted);
  expect(await statusOf(issued.key)).toBe(200);
});

test("uses of the old secret don't count as uses of the new secret", async () => {
  const key = await addKey();
  const lost = await rotate(key);
  expect(await statusesOf(...Array(10).fill(key.secret))).toEqual(Array(10).fill(200));
  const retried = await rotate(key);
  expect(retried).toMatchObject(reissued);
  expect(await statusesOf(lost.key, retried.key)).toEqual([403, 200]);
});

test("rate-limited requests don't count as uses of the new secret", async () => {
  const key = await addKey({ limit: { quota: 2, windowSeconds: 3_600 } });
  const { secret } = await addKey({}, key.userId);
  const lost = await rotate(key);
  expect([await statusOf(key.secret), await statusOf(lost.key)]).toEqual([200, 429]);
  const retried = await rotate({ ...key, secret });
  expect(retried).toMatchObject(reissued);
  expect(await statusesOf(lost.key, retried.key)).toEqual([403, 429]);
});

test("a restricted key can retry its own rotation, and another restricted key can't", async () => {
  const key = await addKey({ isReadOnly: true });
  const other = await addKey({ isReadOnly: true }, key.userId);
  await rotate(key);
  expect(await rotate({ ...key, secret: other.secret })).toMatchObject(forbidden);
  expect(await rotate(key)).toMatchObject(reissued);
});

test("an old secret can retry only its own request, and can't start another rotation", async () => {
  const key = await addKey();
  const { key: current } = await rotate({ ...key, name: "mine" });
  for (const attempt of [{ name: "" }, { name: "another" }, { name: "mine", overlapSeconds: 60 }])
    expect(await rotate({ ...key, ...attempt })).toMatchObject(forbidden);
  const other = await addKey({}, key.userId);
  expect(await rotate({ ...other, secret: key.secret, name: "mine" })).toMatchObject(forbidden);
  expect(await statusOf(current)).toBe(200);
});

test("an old secret can't retry a rotation that another secret requested", async () => {
  const key = await addKey();
  const other = await addKey({}, key.userId);
  const byOther = await rotate({ ...key, secret: other.secret, name: "theirs" });
  expect(await rotate({ ...key, name: "theirs" })).toMatchObject(forbidden);
  // The secret that the first rotation issued requests the next rotation.
  const { key: current } = await rotate({ ...key, secret: byOther.key, name: "next" });
  expect(await rotate({ ...key, name: "next" })).toMatchObject(forbidden);
  expect(await statusesOf(key.secret, current)).toEqual([200, 200]);
});

test("an old secret can't retry the rotation of another key, even one that it requested", async () => {
  const key = await addKey();
  const target = await addKey({}, key.userId);
  const issued = await rotate({ ...target, secret: key.secret, name: "target" });
  await rotate({ ...key, name: "own" });
  expect(await rotate({ ...target, secret: key.secret, name: "target" })).toMatchObject(forbidden);
  expect(await statusOf(issued.key)).toBe(200);
});

test("a retry of a rotation that isn't the latest gets no secret and changes nothing", async () => {
  const key = await addKey();
  const { secret } = await addKey({}, key.userId);
  await rotate({ ...key, name: "first" });
  const { key: current } = await rotate({ ...key, secret, name: "second" });
  expect(await rotate({ ...key, name: "first" })).toMatchObject(omitted);
  expect(await rotate({ ...key, secret, name: "first" })).toMatchObject(omitted);
  expect(await statusOf(current)).toBe(200);
});

test("the retry of a rotation gets no secret if the key was deleted after the rotation", async () => {
  const key = await addKey();
  const { secret } = await addKey({}, key.userId);
  await rotate(key);
  await app.deleteKey({ userId: key.userId, id: key.keyId });
  expect(await rotate({ ...key, secret })).toMatchObject(omitted);
  expect(await rotate(key)).toMatchObject(forbidden);
});

test("an old secret can't retry after its overlap, or after the idempotency record is a day old", async () => {
  const [ended, old] = [await addKey(), await addKey()];
  for (const key of [ended, old]) await rotate(key);
  await sql`
    update retired_secrets set good_until = clock_timestamp() where key_id = ${ended.keyId}`.execute(
    app.owner,
  );
  await sql`update key_counters set version = version + 1 where key_id = ${ended.keyId}`.execute(app.owner);
  await sql`
    update idempotency_records set created_at = now() - interval '24 hours 1 second'
    where user_id = ${old.userId}`.execute(app.owner);
  for (const key of [ended, old]) expect(await rotate(key)).toMatchObject(forbidden);
});

test("a retry of a rotation that was recorded by the previous version gets no secret", async () => {
  const key = await addKey();
  const { secret } = await addKey({}, key.userId);
  const { key: current } = await rotate(key);
  await sql`
    update idempotency_records set presented_hash = null, issued_hash = null
    where user_id = ${key.userId}`.execute(app.owner);
  expect(await rotate({ ...key, secret })).toMatchObject(omitted);
  expect(await rotate(key)).toMatchObject(forbidden);
  expect(await statusOf(current)).toBe(200);
});

test("each of 20 concurrent retries gets either 409 or a secret, and the last secret works", async () => {
  const key = await addKey();
  const { secret } = await addKey({}, key.userId);
  const lost = await rotate(key);
  const retries = await Promise.all(
    Array.from({ length: 20 }, (_, index) => rotate(index % 2 === 0 ? key : { ...key, secret })),
  );
  const answered = retries.filter(({ status }) => status !== 409);
  expect(answered.length).toBeGreaterThan(0);
  for (const answer of answered) expect(answer).toMatchObject(reissued);
  const last = await rotate(key);
  const replaced = [lost, ...answered].map((answer) => answer.key);
  expect(new Set([...replaced, last.key]).size).toBe(replaced.length + 1);
  expect(await statusesOf(...replaced)).toEqual(replaced.map(() => 403));
  expect(await statusOf(last.key)).toBe(200);
});

test("a request with an old secret after its overlap sets rotatedOutUse of its key", async () => {
  const key = await addKey();
  const lost = await rotate(key);
  const { key: current } = await rotate(key);
  expect(await statusesOf(lost.key, current)).toEqual([403, 200]);
  await expect
    .poll(async () => {
      const response = await fetch(`${app.baseUrl}/open/api-keys/${key.id}`, {
        headers: { Authorization: `Bearer ${current}` },
      });
      return await response.json();
    })
    .toMatchObject({ start: current.slice(0, 9), rotatedOutUse: { address: "127.0.0.1" } });
});

test("no table stores a secret", async () => {
  const key = await addKey();
  const secrets = [await rotate(key), await rotate(key)].map((answer) => answer.key);
  const tables = ["idempotency_records", "api_keys", "retired_secrets", "key_refusals"];
  for (const table of tables) {
    const { rows } = await sql<{ text: string }>`select t::text as text from ${sql.table(table)} t`.execute(
      app.owner,
    );
    const text = rows.map((row) => row.text).join("\n");
    for (const secret of secrets) expect(text).not.toContain(secret.slice(9));
  }
});
