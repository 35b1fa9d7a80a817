// Changes to balances of credits, also while keys are verified.
import { passEndOf } from "@latchkey/db/testing/pass-end-of";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createIssuedKeyClient } from "./issued-key-client.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());
// Daily refills are due at midnight.
beforeEach(() => passEndOf("day"));

const { addSpace, addKey, readCounter, listEvents, verify } = createIssuedKeyClient(() => app);

test("If-Match rejects a change of credits at another version, and a changed balance keeps the version", async () => {
  const space = await addSpace();
  const { id, uuid } = await addKey(space, { credits: { remaining: 10, refill: null } });
  const { etag } = await space.call(["GET", `/${id}`]);
  const change = (body: object) => space.call(["POST", `/${id}/credits`], body, { "If-Match": String(etag) });
  expect(await change({ add: 1 })).toMatchObject({ status: 200, body: { credits: { remaining: 11 } } });
  expect(await change({ add: 1 })).toMatchObject({ status: 200, body: { credits: { remaining: 12 } } });
  await space.call(["PATCH", `/${id}`], { name: "Renamed" });
  expect(await change({ set: 0 })).toMatchObject({
    status: 412,
    body: { error: { code: "PRECONDITION_FAILED" } },
  });
  expect(await readCounter(uuid)).toMatchObject({ credits: 12 });
});

test("a balance is set, added to and subtracted from, and each change is in the audit log", async () => {
  const space = await addSpace();
  const { id, uuid, secret } = await addKey(space, { name: "Acme" });
  const change = (body: object) => space.call(["POST", `/${id}/credits`], body);
  for (const [request, remaining] of [
    [{ set: 10 }, 10],
    [{ add: 5 }, 15],
    [{ subtract: 15 }, 0],
    [{ add: 2 }, 2],
    [{ set: 0 }, 0],
  ] as const) {
    const reply = await change(request);
    expect([reply.status, reply.body]).toMatchObject([
      200,
      { id, credits: { remaining, refill: null }, status: remaining > 0 ? "active" : "out-of-credits" },
    ]);
    // The balance is not one of the facts that nodes remember.
    expect(await readCounter(uuid)).toEqual({ version: 1, credits: remaining });
    expect(await verify(space, secret)).toMatchObject({
      code: remaining > 0 ? "VALID" : "USAGE_EXCEEDED",
      credits: { remaining: Math.max(0, remaining - 1) },
    });
    if (remaining > 0) await change({ add: 1 }); // What the verification spent.
  }
  const key = { name: "Acme", start: secret.slice(0, 14) };
  expect((await listEvents(space)).slice(1)).toEqual(
    [
      [null, 10, {}],
      [9, 10, { added: 1 }],
      [10, 15, { added: 5 }],
      [14, 15, { added: 1 }],
      [15, 0, { subtracted: 15 }],
      [0, 2, { added: 2 }],
      [1, 2, { added: 1 }],
      [2, 0, {}],
    ].map(([before, after, amount]) => ({
      action: "issued-key.credits-changed",
      before: { credits: before },
      after: { ...key, credits: after, ...(amount as object) },
    })),
  );
});

test("a balance never becomes negative or too large, and a key without credits has none to add to", async () => {
  const space = await addSpace();
  const unlimited = await addKey(space);
  const limited = await addKey(space, { credits: { remaining: 3 } });
  const full = await addKey(space, { credits: { remaining: 1_000_000_000_000 } });
  for (const [{ id, uuid }, body, message] of [
    [unlimited, { add: 1 }, "The key has no credits. Use set to give it a balance."],
    [unlimited, { subtract: 1 }, "The key has no credits. Use set to give it a balance."],
    [limited, { subtract: 4 }, "The balance is 3 and can’t become negative."],
    [full, { add: 1 }, "The balance is 1,000,000,000,000 and can be at most 1,000,000,000,000."],
  ] as const) {
    const before = await readCounter(uuid);
    const reply = await space.call(["POST", `/${id}/credits`], body);
    const [path] = Object.keys(body);
    expect([reply.status, reply.body.error]).toMatchObject([
      409,
      { code: "CONFLICT", message, issues: [{ path, message }] },
    ]);
    expect(await readCounter(uuid)).toEqual(before);
  }
  expect((await listEvents(space)).filter(({ action }) => action !== "issued-key.created")).toEqual([]);
});

test.each([
  [{}, ""],
  [{ set: 1, add: 1 }, ""],
  [{ add: 0 }, "add"],
  [{ subtract: -1 }, "subtract"],
  [{ set: 1.5 }, "set"],
  [{ set: 1_000_000_000_001 }, "set"],
  [{ multiply: 2 }, "multiply"],
])("rejects %j", async (body, path) => {
  const space = await addSpace();
  const { id } = await addKey(space, { credits: { remaining: 3 } });
  const reply = await space.call(["POST", `/${id}/credits`], body);
  const { issues } = reply.body.error as { issues: readonly { path: string }[] };
  expect([reply.status, issues[0]?.path]).toEqual([400, path]);
});

test("a repeated request is applied once", async () => {
  const space = await addSpace();
  const { id, uuid } = await addKey(space, { credits: { remaining: 3 } });
  const add = (amount: number) =>
    space.call(["POST", `/${id}/credits`], { add: amount }, { "Idempotency-Key": "invoice-7" });
  for (const replayed of ["", "true", "true"])
    expect(await add(5)).toMatchObject({ status: 200, replayed, body: { credits: { remaining: 8 } } });
  expect(await readCounter(uuid)).toMatchObject({ credits: 8 });
  expect((await add(6)).status).toBe(422);
});

test("a refill that is due comes first, and is applied once", async () => {
  const space = await addSpace();
  const refill = { amount: 10, interval: "daily" };
  const { id, uuid } = await addKey(space, { credits: { remaining: 3, refill } });
  const change = async (body: object) =>
    (await space.call(["POST", `/${id}/credits`], body)).body.credits as { remaining: number };
  const makeDue = () =>
    sql`update key_counters set credits_refilled_at = now() - interval '1 day' where key_id = ${uuid}`.execute(
      app.owner,
    );
  await makeDue();
  expect(await change({ subtract: 4 })).toMatchObject({ remaining: 6 });
  expect(await change({ subtract: 4 })).toMatchObject({ remaining: 2 });
  await makeDue();
  expect(await change({ set: 1 })).toMatchObject({ remaining: 1 });
});

test("of concurrent subtractions and verifications, each is counted exactly", async () => {
  const space = await addSpace();
  const initial = 60;
  const { id, secret, uuid } = await addKey(space, { credits: { remaining: initial } });
  const results = await Promise.all(
    Array.from({ length: 50 }, async () => {
      const [change, verification] = await Promise.all([
        space.call(["POST", `/${id}/credits`], { subtract: 1 }),
        verify(space, secret),
      ]);
      expect([200, 409]).toContain(change.status);
      expect(["VALID", "USAGE_EXCEEDED"]).toContain(verification.code);
      return Number(change.status === 200) + Number(verification.code === "VALID");
    }),
  );
  const spent = results.reduce((sum, count) => sum + count, 0);
  expect(await readCounter(uuid)).toMatchObject({ credits: initial - spent });
  expect(spent).toBe(initial);
  const { rows } = await sql`select use_count from key_counters where key_id = ${uuid}`.execute(app.owner);
  const changes = (await listEvents(space)).filter(({ action }) => action === "issued-key.credits-changed");
  expect(rows).toEqual([{ use_count: spent - changes.length }]);
});
