// Edits of the credits of a key that keep its balance or its refill.
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { passEndOf } from "@latchkey/db/testing/pass-end-of";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createIssuedKeyClient, type Space } from "./issued-key-client.ts";
import { holdLocks } from "./table-locks.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());
// Daily refills are due at midnight.
beforeEach(() => passEndOf("day"));

const { addSpace, addKey, listEvents, verify } = createIssuedKeyClient(() => app);

const daily = { amount: 50, interval: "daily", day: null };
const monthly = { amount: 80, interval: "monthly", day: 1 };

const editCredits = async ({ call }: Space, id: string, credits: object) => {
  const reply = await call(["PATCH", `/${id}`], { credits });
  return reply.body.credits;
};

test("an edit of the refill keeps the balance, and an edit of the balance keeps the refill", async () => {
  const space = await addSpace();
  const { id } = await addKey(space, { credits: { remaining: 5 } });
  expect(await editCredits(space, id, { refill: daily })).toEqual({ remaining: 5, refill: daily });
  expect(await editCredits(space, id, { remaining: 7 })).toEqual({ remaining: 7, refill: daily });
  expect(await editCredits(space, id, { refill: null })).toEqual({ remaining: 7, refill: null });
  const events = (await listEvents(space)).slice(1);
  expect(events.map(({ before, after }) => [before, after])).toMatchObject([
    [{ credits: "5" }, { credits: "5, refilled to 50 daily" }],
    [{ credits: "5, refilled to 50 daily" }, { credits: "7, refilled to 50 daily" }],
    [{ credits: "7, refilled to 50 daily" }, { credits: "7" }],
  ]);
});

test("a refill that is due is applied before the refill is changed, and the new one is due from then on", async () => {
  const space = await addSpace();
  const { id, uuid } = await addKey(space, { credits: { remaining: 5, refill: daily } });
  const setRefilledAt = (age: string) =>
    sql`
      update key_counters set credits_refilled_at = now() - ${age}::interval where key_id = ${uuid}`.execute(
      app.owner,
    );
  await setRefilledAt("1 day");
  expect(await editCredits(space, id, { refill: null })).toEqual({ remaining: 50, refill: null });
  await setRefilledAt("1 year");
  expect(await editCredits(space, id, { refill: monthly })).toEqual({ remaining: 50, refill: monthly });
  await setRefilledAt("1 year");
  expect(await editCredits(space, id, { remaining: 3 })).toEqual({ remaining: 3, refill: monthly });
});

test("a refill of a key without credits needs a balance, and an edit of credits a change", async () => {
  const space = await addSpace();
  const { id } = await addKey(space);
  const { status, body } = await space.call(["PATCH", `/${id}`], { credits: { refill: daily } });
  const issue = { path: "credits.remaining", code: "required" };
  expect([status, body.error]).toMatchObject([422, { code: "UNPROCESSABLE_CONTENT", issues: [issue] }]);
  expect((await space.call(["GET", `/${id}`])).body).toMatchObject({ credits: null, version: 1 });
  expect(await editCredits(space, id, { remaining: 1, refill: daily })).toEqual({
    remaining: 1,
    refill: daily,
  });
  const empty = await space.call(["PATCH", `/${id}`], { credits: {} });
  expect([empty.status, empty.body.error]).toMatchObject([400, { issues: [{ path: "credits" }] }]);
});

test("the event of a balance that is set has the balance after the last use", async () => {
  const space = await addSpace();
  const { id, uuid } = await addKey(space, { credits: { remaining: 100, refill: daily } });
  const editAfterUse = async (credits: object | null) => {
    const commitUse = await holdLocks(
      app.database,
      "update key_counters set credits = credits - 10 where key_id = $1",
      [uuid],
    );
    const edit = space.call(["PATCH", `/${id}`], { credits });
    await expect.poll(() => countWaiting(app.owner)).toBe(1);
    await commitUse();
    const { status, body } = await edit;
    expect([status, body.error]).toEqual([200, undefined]);
  };
  await editAfterUse({ remaining: 100 });
  await editAfterUse({ remaining: 70, refill: null });
  await editAfterUse(null);
  const events = (await listEvents(space)).slice(1);
  expect(events.map(({ before, after }) => [before, after])).toMatchObject([
    [{ credits: "90, refilled to 50 daily" }, { credits: "100, refilled to 50 daily" }],
    [{ credits: "90, refilled to 50 daily" }, { credits: "70" }],
    [{ credits: "60" }, { credits: null }],
  ]);
});

test("no use is lost while the refill is edited", async () => {
  const space = await addSpace();
  const { id, secret, uuid } = await addKey(space, { credits: { remaining: 100 } });
  const use = async () => {
    for (let round = 0; round < 5; round += 1)
      expect(await verify(space, secret)).toMatchObject({ code: "VALID" });
  };
  const edit = async () => {
    for (let amount = 1; amount <= 10; amount += 1)
      await editCredits(space, id, { refill: { amount, interval: "daily" } });
  };
  await Promise.all([edit(), ...Array.from({ length: 6 }, use)]);
  const { rows } = await sql`select credits::integer from key_counters where key_id = ${uuid}`.execute(
    app.owner,
  );
  expect(rows).toEqual([{ credits: 70 }]);
});
