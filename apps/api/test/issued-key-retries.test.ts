// Retries of requests that issue secrets of issued keys.
import { afterAll, beforeAll, expect, test } from "vitest";
import { createIssuedKeyClient, type Space } from "./issued-key-client.ts";
import { createOpenClient } from "./open-client.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const { addSpace, addKey, readCounter, verify } = createIssuedKeyClient(() => app);
const { send } = createOpenClient(() => app);

/** What a response says about one key and its secret. */
interface Issued {
  readonly id: string;
  readonly start: string;
  readonly key?: string;
  readonly secretStatus: string;
}

/** The requests that rotate a key, each sent again with each call. */
const rotations: readonly [
  name: string,
  rotate: (space: Space, id: string) => Promise<Issued & { readonly replayed: string }>,
][] = [
  [
    "one key",
    async ({ call }, id) => {
      const { status, body, replayed } = await call(["POST", `/${id}/rotate`], {}, retry);
      expect([status, body.error]).toEqual([200, undefined]);
      return { ...(body as unknown as Issued), replayed }; // Checked against the OpenAPI document.
    },
  ],
  [
    "several keys",
    async ({ call }, id) => {
      const { status, body, replayed } = await call(["POST", "/rotate"], { keyIds: [id] }, retry);
      expect([status, body.error]).toEqual([200, undefined]);
      const [rotated] = body.rotated as readonly [Issued]; // Checked against the OpenAPI document.
      return { ...rotated, replayed };
    },
  ],
];
const retry = { "Idempotency-Key": "lost" };

test.each(rotations)(
  "a retried rotation of %s keeps a secret that was only verified with cost 0",
  async (_name, rotate) => {
    const space = await addSpace();
    const { id } = await addKey(space);
    const first = await rotate(space, id);
    expect(first).toMatchObject({ secretStatus: "issued", replayed: "" });
    const secret = String(first.key);
    expect(await verify(space, secret, { cost: 0 })).toMatchObject({ code: "VALID" });
    expect((await space.call(["GET", `/${id}`])).body.usageCount).toBe(0);
    const second = await rotate(space, id);
    expect(second).toMatchObject({ secretStatus: "omitted", replayed: "true" });
    expect(second).not.toHaveProperty("key");
    expect(await verify(space, secret)).toMatchObject({ code: "VALID" });
  },
);

test.each(rotations)(
  "a retried rotation of %s has the start of the secret that it issued",
  async (_name, rotate) => {
    const space = await addSpace();
    const { id } = await addKey(space);
    const first = await rotate(space, id);
    const second = await rotate(space, id);
    expect(second).toMatchObject({
      secretStatus: "reissued",
      start: second.key?.slice(0, first.start.length),
    });
    expect(second.start).not.toBe(first.start);
    expect((await space.call(["GET", `/${id}`])).body.start).toBe(second.start);
    await verify(space, String(second.key));
    expect(await rotate(space, id)).toMatchObject({ secretStatus: "omitted", start: second.start });
  },
);

test.each([
  ["creation", () => ["POST", ""] as const],
  ["rotation", (id: string) => ["POST", `/${id}/rotate`] as const],
])(
  "after a retried %s that issued a secret, the version of the response matches the key",
  async (_name, request) => {
    const space = await addSpace();
    const { id } = await addKey(space);
    const attempt = () => space.call(request(id), {}, retry);
    const first = (await attempt()).body;
    await space.call(["PATCH", `/${first.id}`], { name: "Renamed" });
    const second = (await attempt()).body;
    expect(second).toMatchObject({
      secretStatus: "reissued",
      name: "Renamed",
      version: Number(first.version) + 2,
    });
    const { key: _key, secretStatus: _status, ...shown } = second;
    expect(shown).toEqual((await space.call(["GET", `/${first.id}`])).body);
    // A retry without a new secret repeats the latest response that had one.
    await verify(space, String(second.key));
    expect((await attempt()).body).toEqual({ ...shown, secretStatus: "omitted" });
    const ifMatch = { "If-Match": `"${second.version}"` };
    expect((await space.call(["PATCH", `/${first.id}`], { name: "Again" }, ifMatch)).status).toBe(200);
  },
);

test("a creation has the ETag of the key, also when it is retried, whatever the secret is", async () => {
  const space = await addSpace();
  const create = () => space.call(["POST", ""], { name: "Acme" }, retry);
  const first = await create();
  expect(first.etag).toMatch(/^"1\./);
  expect((await space.call(["GET", `/${first.body.id}`])).etag).toBe(first.etag);
  const second = await create();
  expect(second.body).toMatchObject({ secretStatus: "reissued" });
  expect((await space.call(["GET", `/${first.body.id}`])).etag).toBe(second.etag);
  await verify(space, String(second.body.key));
  const third = await create();
  expect(third).toMatchObject({ etag: second.etag, body: { secretStatus: "omitted" } });
  const ifMatch = { "If-Match": second.etag };
  expect((await space.call(["PATCH", `/${first.body.id}`], { name: "Renamed" }, ifMatch)).status).toBe(200);
});

test("a rotation has the ETag of the key, whatever names its data has", async () => {
  const space = await addSpace();
  const meta = { key: "a", secretStatus: "b" };
  const created = await space.call(["POST", ""], { meta }, retry);
  const read = () => space.call(["GET", `/${created.body.id}`]);
  expect(created.etag).toBe((await read()).etag);
  const rotate = () =>
    space.call(["POST", `/${created.body.id}/rotate`], {}, { ...retry, "If-Match": created.etag });
  const first = await rotate();
  expect([first.etag, first.body.meta]).toEqual([(await read()).etag, meta]);
  const second = await rotate();
  expect([second.etag, second.body.secretStatus]).toEqual([(await read()).etag, "reissued"]);
});

test("a retried creation has the start of the secret that it issued", async () => {
  const space = await addSpace();
  const create = async () => (await space.call(["POST", ""], { name: "Acme" }, retry)).body;
  const [first, second] = [await create(), await create()];
  expect(second).toMatchObject({ secretStatus: "reissued", start: String(second.key).slice(0, 14) });
  expect(second.start).not.toBe(first.start);
  expect((await space.call(["GET", `/${first.id}`])).body.start).toBe(second.start);
});

test("a retried creation keeps a secret that was only verified with cost 0", async () => {
  const space = await addSpace();
  const create = async () => (await space.call(["POST", ""], { name: "Acme" }, retry)).body;
  const first = await create();
  const secret = String(first.key);
  expect(await verify(space, secret, { cost: 0 })).toMatchObject({ code: "VALID" });
  expect((await space.call(["GET", `/${first.id}`])).body.usageCount).toBe(0);
  const second = await create();
  expect(second).toMatchObject({ id: first.id, secretStatus: "omitted" });
  expect(second).not.toHaveProperty("key");
  expect(await verify(space, secret)).toMatchObject({ code: "VALID" });
});

test("a retried creation replaces a secret whose verifications were all rejected", async () => {
  const space = await addSpace();
  const create = async () => (await space.call(["POST", ""], { name: "Acme" }, retry)).body;
  const first = await create();
  const requests = [{ permissions: "documents.read" }, { permissions: "documents.read", cost: 0 }];
  for (const fields of requests)
    expect(await verify(space, String(first.key), fields)).toMatchObject({
      code: "INSUFFICIENT_PERMISSIONS",
    });
  const second = await create();
  expect(second).toMatchObject({ id: first.id, secretStatus: "reissued" });
  expect(await verify(space, String(first.key))).toMatchObject({ code: "NOT_FOUND" });
  expect(await verify(space, String(second.key))).toMatchObject({ code: "VALID" });
});

test("a retried batch of verifications spends once, also for the keys that the first attempt rejected", async () => {
  const space = await addSpace();
  const [full, empty] = [
    await addKey(space, { credits: { remaining: 5, refill: null } }),
    await addKey(space, { credits: { remaining: 0, refill: null } }),
  ];
  const verifications = [full, empty].map(({ secret }) => ({ key: secret, cost: 2 }));
  const attempt = async () => {
    const { body } = await send(
      space.team.owner.secret,
      ["POST", "/keys/verify-batch"],
      { verifications },
      retry,
    );
    return body.data?.map(({ code }) => code);
  };
  const balances = async () => {
    const counters = [await readCounter(full.uuid), await readCounter(empty.uuid)];
    return counters.map((counter) => counter?.credits);
  };
  expect([await attempt(), await balances()]).toEqual([
    ["VALID", "USAGE_EXCEEDED"],
    [3, 0],
  ]);
  expect([await attempt(), await balances()]).toEqual([
    ["VALID", "USAGE_EXCEEDED"],
    [3, 0],
  ]);
  const refill = await space.call(["POST", `/${empty.id}/credits`], { add: 5 });
  expect(refill.status).toBe(200);
  expect([await attempt(), await balances()]).toEqual([
    ["VALID", "VALID"],
    [3, 3],
  ]);
  expect([await attempt(), await balances()]).toEqual([
    ["VALID", "VALID"],
    [3, 3],
  ]);
});
