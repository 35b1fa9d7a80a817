import { afterAll, beforeAll, expect, test } from "vitest";
import { installDatabaseClock, type SetDatabaseClock } from "./database-clock.ts";
import { createIssuedKeyClient } from "./issued-key-client.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

// The database's clock passes midnight, is set back, and passes the same midnight again.

let app: TestApp;
let setDatabaseClock: SetDatabaseClock;
beforeAll(async () => {
  app = await startTestApp();
  setDatabaseClock = await installDatabaseClock(app);
});
afterAll(() => app.close());

/** The offset with which the database's clock is at noon, in hours. A test doesn't last until the midnight after it. */
const noon = 12 - new Date().getUTCHours();

const { addSpace, addKey, verify } = createIssuedKeyClient(() => app);

/** A key whose balance is raised to 10 at each midnight. */
async function addRefilledKey() {
  const space = await addSpace();
  const { id, secret } = await addKey(space, {
    credits: { remaining: 3, refill: { amount: 10, interval: "daily" } },
  });
  return {
    async change(body: object): Promise<number> {
      const reply = await space.call(["POST", `/${id}/credits`], body);
      expect([reply.status, reply.body.error]).toEqual([200, undefined]);
      return (reply.body.credits as { readonly remaining: number }).remaining; // The endpoint's response.
    },
    verify: () => verify(space, secret),
  };
}

test("changes to a balance refill it once per midnight, even if the clock is set back past it", async () => {
  await setDatabaseClock(noon);
  const key = await addRefilledKey();
  await setDatabaseClock(noon + 24);
  expect(await key.change({ subtract: 1 })).toBe(9);
  await setDatabaseClock(noon);
  expect(await key.change({ subtract: 8 })).toBe(1);
  await setDatabaseClock(noon + 24);
  expect(await key.change({ subtract: 1 })).toBe(0);
  await setDatabaseClock(noon + 48);
  expect(await key.change({ subtract: 1 })).toBe(9);
});

test("a verification does not refill a balance again at a midnight that was passed before a change", async () => {
  await setDatabaseClock(noon);
  const key = await addRefilledKey();
  await setDatabaseClock(noon + 24);
  expect(await key.verify()).toMatchObject({ code: "VALID", credits: { remaining: 9 } });
  await setDatabaseClock(noon);
  expect(await key.change({ subtract: 9 })).toBe(0);
  await setDatabaseClock(noon + 24);
  expect(await key.verify()).toMatchObject({ code: "USAGE_EXCEEDED", credits: { remaining: 0 } });
  await setDatabaseClock(noon + 48);
  expect(await key.verify()).toMatchObject({ code: "VALID", credits: { remaining: 9 } });
});
