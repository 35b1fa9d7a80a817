// Edits of keyspaces and consumers with three states per field: an absent field keeps its value, and null clears it.
import { afterAll, beforeAll, expect, test } from "vitest";
import { createIssuedKeyClient } from "./issued-key-client.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const { addSpace, addKey } = createIssuedKeyClient(() => app);

const limits = [{ name: "requests", quota: 100, windowSeconds: 60, appliesAlways: true }];
const credits = { remaining: 5, refill: null };

test("null clears each field of a keyspace that can be empty, and no other", async () => {
  const space = await addSpace({
    environment: "production",
    defaultLifetimeDays: 30,
    defaultPermissions: ["a"],
    defaultLimits: limits,
    defaultCredits: credits,
  });
  const cleared = {
    environment: "",
    defaultLifetimeDays: null,
    defaultPermissions: [],
    defaultLimits: [],
    defaultCredits: null,
  };
  for (const [name, value] of Object.entries(cleared)) {
    const before = (await space.send(["GET", ""])).body;
    const { status, body } = await space.send(["PATCH", ""], { [name]: null });
    expect([name, status, body]).toEqual([
      name,
      200,
      { ...before, [name]: value, version: Number(before.version) + 1 },
    ]);
  }
  for (const name of ["name", "prefix", "isDisabled"]) {
    const { status, body } = await space.send(["PATCH", ""], { [name]: null });
    expect([status, body.error]).toMatchObject([400, { issues: [{ path: name, code: "invalid_type" }] }]);
  }
});

test("default credits without a refill keep the refill, and null clears it", async () => {
  const refill = { amount: 1_000, interval: "monthly", day: 31 };
  const space = await addSpace({ defaultCredits: { remaining: 5, refill } });
  const change = async (defaultCredits: object | null) =>
    (await space.send(["PATCH", ""], { defaultCredits })).body.defaultCredits;
  expect(await change({ remaining: 10 })).toEqual({ remaining: 10, refill });
  expect(await change({ remaining: 10, refill: null })).toEqual({ remaining: 10, refill: null });
  expect(await change(null)).toBeNull();
  expect(await change({ remaining: 5 })).toEqual({ remaining: 5, refill: null });
  expect((await space.send(["PATCH", ""], { defaultCredits: { refill } })).status).toBe(400);
});

test("null clears the limits of a consumer", async () => {
  const space = await addSpace();
  await addKey(space, { externalId: "acme" });
  const change = (body: object) => space.send(["PATCH", "/consumers/acme"], body);
  expect((await change({ limits })).body.limits).toEqual(limits);
  expect(await change({ limits: null })).toMatchObject({ status: 200, body: { limits: [] } });
});
