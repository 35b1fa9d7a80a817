// Conditional requests for keyspaces, issued keys and consumers.
import { afterAll, beforeAll, expect, test } from "vitest";
import { createIssuedKeyClient } from "./issued-key-client.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const { addSpace, addKey, listEvents, verify } = createIssuedKeyClient(() => app);

test.each([
  { what: "a keyspace", pathOf: () => "", change: { name: "Staging" } },
  { what: "an issued key", pathOf: (id: string) => `/keys/${id}`, change: { name: "Globex" } },
  {
    what: "a consumer",
    pathOf: () => "/consumers/customer_42",
    change: { limits: [{ name: "requests", quota: 5, windowSeconds: 60 }] },
  },
])(
  "$what is sent to a client only if it has changed, and uses don't change its tag",
  async ({ pathOf, change }) => {
    const space = await addSpace();
    const key = await addKey(space, { name: "Acme", externalId: "customer_42" });
    const path = pathOf(key.id);
    const read = (headers: Readonly<Record<string, string>> = {}) =>
      space.send(["GET", path], undefined, headers);
    const { status, etag } = await read();
    expect([status, etag]).toEqual([200, expect.stringMatching(/^"1\.[\w-]{11}"$/)]);
    expect(await verify(space, key.secret)).toMatchObject({ code: "VALID" });
    for (const known of [etag, `W/${etag}`, `"x", ${etag}`, "*"])
      expect(await read({ "If-None-Match": known })).toMatchObject({ status: 304, etag, body: {} });
    for (const other of ['"1"', '"x"'])
      expect(await read({ "If-None-Match": other })).toMatchObject({ status: 200, etag });

    const update = (tag: string) => space.send(["PATCH", path], change, { "If-Match": tag });
    expect((await update('"7"')).status).toBe(412);
    const changed = await update(etag);
    expect([changed.status, changed.etag]).toEqual([200, expect.stringMatching(/^"2\./)]);
    expect(await read({ "If-None-Match": etag })).toMatchObject({ status: 200, etag: changed.etag });
    expect(await read({ "If-None-Match": changed.etag })).toMatchObject({ status: 304 });
    expect((await update(etag)).status).toBe(412);
  },
);

const limits = [{ appliesAlways: true, windowSeconds: 60, quota: 5, name: "requests" }];
const refill = { day: null, interval: "daily", amount: 5 };
const settings = {
  name: "Acme",
  meta: { b: [{ d: 1, c: 2 }], a: null },
  permissions: ["b", "a"],
  limits,
  expiresAt: "2999-01-01T00:00:00.000Z",
  isDisabled: true,
  ipRanges: ["192.0.2.0/24"],
};

test.each<readonly [what: string, path: string, values: object, another: object]>([
  [
    "a keyspace",
    "",
    {
      name: "Production",
      environment: "eu",
      defaultLifetimeDays: 5,
      defaultPermissions: ["b", "a"],
      defaultLimits: limits,
      defaultCredits: { remaining: 5, refill },
      isDisabled: true,
    },
    { isDisabled: false },
  ],
  [
    "an issued key",
    "/keys/:id",
    { ...settings, externalId: "acme", credits: { refill } },
    { meta: { ...settings.meta, a: 0 } },
  ],
  [
    "an issued key without credits",
    "/keys/:other",
    { name: "", externalId: null, credits: null },
    { name: "x" },
  ],
  ["a consumer", "/consumers/acme", { limits }, { limits: [] }],
])(
  "an edit that changes nothing of %s keeps the version, and is rejected with the ETag of another version",
  async (...row) => {
    const [, template, values, another] = row;
    const space = await addSpace();
    const { id } = await addKey(space, { externalId: "acme", credits: { remaining: 5, refill } });
    const other = await addKey(space);
    const path = template.replace(":id", id).replace(":other", other.id);
    const update = (body: object, tag: string) => space.send(["PATCH", path], body, { "If-Match": tag });
    const first = await update(values, "*");
    expect([first.status, first.body.error]).toEqual([200, undefined]);
    const events = await listEvents(space);
    for (const tag of [first.etag, "*"]) {
      const repeated = await update(values, tag);
      expect([repeated.status, repeated.etag, repeated.body]).toEqual([200, first.etag, first.body]);
    }
    expect(await listEvents(space)).toEqual(events);
    expect((await update(values, '"7"')).status).toBe(412);
    const changed = await update(another, first.etag);
    expect(changed.body.version).toBe(Number(first.body.version) + 1);
  },
);

test("an edit that sets the balance that a key has changes the version, because its refill starts again", async () => {
  const space = await addSpace();
  const { id } = await addKey(space, { credits: { remaining: 5, refill: null } });
  const { body } = await space.call(["PATCH", `/${id}`], { credits: { remaining: 5 } });
  expect(body.version).toBe(2);
});
