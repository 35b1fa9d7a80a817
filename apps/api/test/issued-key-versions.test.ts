// Conditional requests for keyspaces, issued keys and consumers.
import { afterAll, beforeAll, expect, test } from "vitest";
import { createIssuedKeyClient } from "./issued-key-client.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const { addSpace, addKey, verify } = createIssuedKeyClient(() => app);

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
