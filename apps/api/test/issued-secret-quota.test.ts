// The hourly quota of secrets of issued keys.
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createIssuedKeyClient, type Space } from "./issued-key-client.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

const issuedSecretsPerHour = 4;

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ quotas: { issuedSecretsPerHour } });
});
afterAll(() => app.close());

const { addSpace, addKey, listEvents } = createIssuedKeyClient(() => app);

const limited = (minutes: number) => ({
  code: "TOO_MANY_REQUESTS",
  message: `This request exceeds your limit of 4 secrets of issued keys per hour. Try again in ${minutes} minutes. You can still change, disable and delete keys.`,
});

/** A space with two keys, whose owner can create two more secrets. */
async function addHalfSpace(): Promise<Space & { readonly keyIds: readonly string[] }> {
  const space = await addSpace();
  return { ...space, keyIds: [(await addKey(space)).id, (await addKey(space)).id] };
}

test.each<readonly [string, (space: Space, id: string) => ReturnType<Space["call"]>]>([
  ["a creation", ({ call }) => call(["POST", ""], {})],
  ["a rotation", ({ call }, id) => call(["POST", `/${id}/rotate`], {})],
  ["a rotation of several keys", ({ call }, id) => call(["POST", "/rotate"], { keyIds: [id] })],
])("%s counts, and gets 429 at the quota until a part of the hour has passed", async (_name, send) => {
  const space = await addHalfSpace();
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

test("a rotation of more keys than the quota allows rotates none, and doesn't count", async () => {
  const space = await addHalfSpace();
  const [one = "", other = ""] = space.keyIds;
  expect((await space.call(["POST", `/${one}/rotate`], {})).status).toBe(200);
  const rejected = await space.call(["POST", "/rotate"], { keyIds: [one, other] });
  expect(rejected).toMatchObject({ status: 429, body: { error: limited(15) } });
  expect((await space.call(["GET", `/${other}`])).body.version).toBe(1);
  expect((await space.call(["POST", "/rotate"], { keyIds: [other] })).status).toBe(200);
});

test("a retry counts only if it issues another secret", async () => {
  const space = await addHalfSpace();
  const retry = { "Idempotency-Key": "lost" };
  const rotate = () => space.call(["POST", `/${space.keyIds[0]}/rotate`], {}, retry);
  expect((await rotate()).body.secretStatus).toBe("issued");
  expect((await rotate()).body.secretStatus).toBe("reissued");
  expect((await rotate()).status).toBe(429);
  await sql`
    update key_counters set has_unused_secret = null
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
