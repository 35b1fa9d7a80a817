// The hourly quota of secrets of issued keys.
import type { IssuedKeyId } from "@latchkey/db/ids";
import type { Trx } from "@latchkey/db/schema";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createIssuedKeyClient, type Space } from "./issued-key-client.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

const issuedSecretsPerHour = 4;

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ quotas: { issuedSecretsPerHour } });
});
afterAll(() => app.close());

const { addSpace, addKey, listEvents, verify } = createIssuedKeyClient(() => app);

const limited = (minutes: number) => ({
  code: "TOO_MANY_REQUESTS",
  message: `This request exceeds your limit of 4 secrets of issued keys per hour. Enabling a key counts as one. Try again in ${minutes} minutes. You can still change, disable and delete keys, and revoke old secrets.`,
});

/** A space with two keys, whose owner can create two more secrets. */
async function addSpaceAtHalfQuota(): Promise<Space & { readonly keyIds: readonly string[] }> {
  const space = await addSpace();
  return { ...space, keyIds: [(await addKey(space)).id, (await addKey(space)).id] };
}

test.each<readonly [string, (space: Space, id: string) => ReturnType<Space["call"]>]>([
  ["a creation", ({ call }) => call(["POST", ""], {})],
  ["a rotation", ({ call }, id) => call(["POST", `/${id}/rotate`], {})],
  ["a rotation of several keys", ({ call }, id) => call(["POST", "/rotate"], { keyIds: [id] })],
])("%s counts, and gets 429 at the quota until part of the hour has passed", async (_name, send) => {
  const space = await addSpaceAtHalfQuota();
  const [id = ""] = space.keyIds;
  for (const attempt of [1, 2])
    expect([attempt, (await send(space, id)).body.error]).toEqual([attempt, undefined]);
  const before = await listEvents(space);
  const rejected = await send(space, id);
  expect(rejected).toMatchObject({ status: 429, body: { error: limited(15) } });
  expect(Number(rejected.retryAfter)).toBeGreaterThan(800);
  expect(Number(rejected.retryAfter)).toBeLessThanOrEqual(900);
  expect(await listEvents(space)).toEqual(before);
  expect((await space.call(["PATCH", `/${id}`], { isDisabled: true })).status).toBe(200);
  await sql`update throttle_buckets set full_at = full_at - interval '15 minutes'`.execute(app.owner);
  expect((await send(space, id)).body.error).toBeUndefined();
  expect((await send(space, id)).status).toBe(429);
  expect((await space.call(["DELETE", `/${id}`])).status).toBe(204);
});

test.each<
  readonly [string, (space: Space, ids: readonly string[], isDisabled: boolean) => ReturnType<Space["call"]>]
>([
  ["a change of one key", ({ call }, [id = ""], isDisabled) => call(["PATCH", `/${id}`], { isDisabled })],
  [
    "a change of several keys",
    ({ call }, [id], isDisabled) =>
      call(["POST", "/bulk"], { keyIds: [id], action: isDisabled ? "disable" : "enable" }),
  ],
])("%s counts if it enables a disabled key, and disabling is always possible", async (_name, setDisabled) => {
  const space = await addSpaceAtHalfQuota();
  const { keyIds } = space;
  const statusOf = async (isDisabled: boolean) => (await setDisabled(space, keyIds, isDisabled)).status;
  // A key that is enabled already doesn't count.
  for (const isDisabled of [false, true, false, false, true, false, true]) {
    expect(await statusOf(isDisabled)).toBe(200);
  }
  const before = await listEvents(space);
  expect(await setDisabled(space, keyIds, false)).toMatchObject({
    status: 429,
    body: { error: limited(15) },
  });
  expect(await listEvents(space)).toEqual(before);
  expect((await space.call(["GET", `/${keyIds[0]}`])).body.isDisabled).toBe(true);
  expect((await space.call(["PATCH", `/${keyIds[1]}`], { name: "Acme", isDisabled: false })).status).toBe(
    200,
  );
  expect(await statusOf(true)).toBe(200);
});

test("enabling several keys counts once per key that was disabled, and enables none beyond the quota", async () => {
  const space = await addSpaceAtHalfQuota();
  const [one = "", other = ""] = space.keyIds;
  const change = (action: string) => space.call(["POST", "/bulk"], { keyIds: [one, other], action });
  expect((await change("disable")).body.changed).toHaveLength(2);
  expect((await space.call(["PATCH", `/${one}`], { isDisabled: false })).status).toBe(200);
  expect((await change("enable")).body.changed).toEqual([other]);
  expect((await change("disable")).status).toBe(200);
  expect(await change("enable")).toMatchObject({ status: 429, body: { error: limited(30) } });
  expect((await space.call(["GET", `/${one}`])).body.isDisabled).toBe(true);
});

test("a rotation of more keys than the quota allows rotates none, and doesn't count", async () => {
  const space = await addSpaceAtHalfQuota();
  const [one = "", other = ""] = space.keyIds;
  expect((await space.call(["POST", `/${one}/rotate`], {})).status).toBe(200);
  const rejected = await space.call(["POST", "/rotate"], { keyIds: [one, other] });
  expect(rejected).toMatchObject({ status: 429, body: { error: limited(15) } });
  expect((await space.call(["GET", `/${other}`])).body.version).toBe(1);
  expect((await space.call(["POST", "/rotate"], { keyIds: [other] })).status).toBe(200);
});

test("a retry counts only if it issues another secret", async () => {
  const space = await addSpaceAtHalfQuota();
  const retry = { "Idempotency-Key": "lost" };
  const rotate = () => space.call(["POST", `/${space.keyIds[0]}/rotate`], {}, retry);
  expect((await rotate()).body.secretStatus).toBe("issued");
  expect((await rotate()).body.secretStatus).toBe("reissued");
  expect((await rotate()).status).toBe(429);
  await sql`
    update key_counters set has_unused_secret = false
    where key_id in (select id from issued_keys where workspace_id = ${space.team.scope.workspaceId})`.execute(
    app.owner,
  );
  expect((await rotate()).body.secretStatus).toBe("omitted");
});

test("exactly as many concurrent creations succeed as the quota allows, and another user has a quota of their own", async () => {
  const [space, other] = [await addSpace(), await addSpace()];
  const statuses: number[] = [];
  const attempt = async () => {
    const { status } = await space.call(["POST", ""], {});
    statuses.push(status);
  };
  await Promise.all(Array.from({ length: 12 }, attempt));
  expect(statuses.filter((status) => status === 201)).toHaveLength(issuedSecretsPerHour);
  expect(new Set(statuses)).toEqual(new Set([201, 429]));
  await addKey(other);
});

/** Two keys that were rotated together, and the request to repeat. */
async function addRotatedKeys() {
  const space = await addSpace();
  const keys = [await addKey(space), await addKey(space)];
  const body = { keyIds: keys.map(({ id }) => id), overlapSeconds: 60 };
  const send = () => space.call(["POST", "/rotate"], body, { "Idempotency-Key": "lost" });
  expect((await send()).status).toBe(200);
  // The owner can now create two more secrets.
  await sql`update throttle_buckets set full_at = full_at - interval '30 minutes'`.execute(app.owner);
  return { space, keys, send };
}

/** Locks the rows of all users' quotas until `release` is called, or the test ends. */
function lockQuotas() {
  const [locked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const ended = app.owner.transaction().execute(async (trx) => {
    await sql`select from throttle_buckets for update`.execute(trx);
    locked.resolve();
    await released.promise;
  });
  const release = async () => {
    released.resolve();
    await ended;
  };
  onTestFinished(release);
  return { locked: locked.promise, release };
}

/** Changes the counters of keys as the first verifications with their new secrets do. */
async function useSecrets(trx: Trx, ids: readonly IssuedKeyId[]): Promise<void> {
  await sql`
    update key_counters set has_unused_secret = false, use_count = use_count + 1
    where key_id = any(${ids}::uuid[])`.execute(trx);
}

const expectWaiting = (count: number) =>
  expect.poll(() => countWaiting(app.owner), { interval: 5 }).toBe(count);

const statusesOf = (reply: Awaited<ReturnType<Space["call"]>> | undefined) =>
  ((reply?.body.rotated ?? []) as readonly { readonly secretStatus: string }[]).map(
    ({ secretStatus }) => secretStatus,
  );

test("verifications don't wait for a retry that waits for the quota", async () => {
  const { space, keys, send } = await addRotatedKeys();
  const quotas = lockQuotas();
  await quotas.locked;
  const retried = send();
  await expectWaiting(1);
  for (const { secret } of keys) expect((await verify(space, secret)).code).toBe("VALID");
  await expectWaiting(1);
  await quotas.release();
  expect(statusesOf(await retried)).toEqual(["reissued", "reissued"]);
});

test("a retry that starts again, because a secret was used, doesn't wait for the quota again", async () => {
  const { space, keys, send } = await addRotatedKeys();
  const [{ secret: replacedSecret } = { secret: "" }, used] = keys;
  let retried: ReturnType<typeof send> | undefined;
  let quotas: ReturnType<typeof lockQuotas> | undefined;
  await app.owner.transaction().execute(async (trx) => {
    await useSecrets(trx, used ? [used.uuid] : []);
    retried = send();
    await expectWaiting(1);
    // Gets the row as soon as the retry releases it.
    quotas = lockQuotas();
    await expectWaiting(2);
  });
  // The retry has kept the row until it ended.
  await quotas?.locked;
  expect(statusesOf(await retried)).toEqual(["reissued", "omitted"]);
  expect((await verify(space, replacedSecret)).code).toBe("VALID");
  await quotas?.release();
  // The retry counted as one secret.
  expect((await space.call(["POST", ""], {})).status).toBe(201);
  expect((await space.call(["POST", ""], {})).status).toBe(429);
});

test("a retry whose secrets are all used while it runs doesn't count", async () => {
  const { space, keys, send } = await addRotatedKeys();
  let retried: ReturnType<typeof send> | undefined;
  await app.owner.transaction().execute(async (trx) => {
    await useSecrets(
      trx,
      keys.map(({ uuid }) => uuid),
    );
    retried = send();
    await expectWaiting(1);
  });
  expect(statusesOf(await retried)).toEqual(["omitted", "omitted"]);
  for (const status of [201, 201, 429]) expect((await space.call(["POST", ""], {})).status).toBe(status);
});
