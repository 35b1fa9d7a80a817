// Consumers: lists, uses, shared limits, external IDs in paths, and the life of a consumer.
import { decodeId } from "@latchkey/db/ids";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createIssuedKeyClient, type Space } from "./issued-key-client.ts";
import { createOpenClient } from "./open-client.ts";
import { holdLocks } from "./table-locks.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const { addSpace, addKey, listEvents, verify } = createIssuedKeyClient(() => app);

const limit = { name: "requests", quota: 2, windowSeconds: 3_600, appliesAlways: true };
const pathOf = (externalId: string) => `/consumers/${encodeURIComponent(externalId)}`;
const change = (
  { send }: Space,
  externalId: string,
  body: object,
  headers?: Readonly<Record<string, string>>,
) => send(["PATCH", pathOf(externalId)], body, headers);

test("a consumer has the number of its keys, their uses and their last use", async () => {
  const space = await addSpace();
  const [first, second] = [
    await addKey(space, { externalId: "acme" }),
    await addKey(space, { externalId: "acme", isDisabled: true }),
  ];
  await addKey(space, { externalId: "globex" });
  const { body, etag } = await space.send(["GET", pathOf("acme")]);
  expect(body).toEqual({
    id: expect.stringMatching(/^csm_/),
    externalId: "acme",
    keyspaceId: space.id,
    limits: [],
    keyCount: 2,
    activeKeyCount: 1,
    lastUsedAt: null,
    usageCount: 0,
    createdAt: expect.any(String),
    version: 1,
  });
  await verify(space, first.secret);
  await verify(space, first.secret);
  await sql`
    update key_counters set use_count = 5, last_used_at = '2020-01-01' where key_id = ${second.uuid}`.execute(
    app.owner,
  );
  const used = await space.send(["GET", pathOf("acme")]);
  expect(used.body).toMatchObject({ keyCount: 2, usageCount: 7 });
  expect(Date.parse(String(used.body.lastUsedAt))).toBeGreaterThan(Date.now() - 60_000);
  expect(used.etag).toBe(etag);
});

test("disabled and expired keys and keys without credits are not active", async () => {
  const space = await addSpace();
  const credits = { remaining: 1, refill: null };
  const [first, second] = [
    await addKey(space, { externalId: "acme", credits }),
    await addKey(space, { externalId: "acme", expiresAt: new Date(Date.now() + 86_400_000).toISOString() }),
  ];
  await addKey(space, { externalId: "acme", isDisabled: true });
  const countOfActive = async () => (await space.send(["GET", pathOf("acme")])).body.activeKeyCount;
  const tags = new Set<string>();
  const readTag = async () => tags.add((await space.send(["GET", pathOf("acme")])).etag).size;
  expect(await countOfActive()).toBe(2);
  expect(await readTag()).toBe(1);
  expect((await verify(space, first.secret)).code).toBe("VALID");
  expect(await countOfActive()).toBe(1);
  await sql`update issued_keys set expires_at = '2020-01-01' where id = ${second.uuid}`.execute(app.owner);
  const { body } = await space.send(["GET", "/consumers"]);
  expect(body.data).toMatchObject([{ externalId: "acme", keyCount: 3, activeKeyCount: 0 }]);
  // The ETag covers the numbers of keys, and the version stays.
  expect(await readTag()).toBe(2);
  const { id } = await addKey(space, { externalId: "acme", isDisabled: true });
  expect(await readTag()).toBe(3);
  await space.call(["DELETE", `/${id}`]);
  expect(await readTag()).toBe(3);
  expect((await space.send(["GET", pathOf("acme")])).body.version).toBe(1);
});

test("an external ID in a path can have any printable character", async () => {
  const space = await addSpace();
  const ids = ["a/b", "%", "%2F", "ada@example.com", "a b", "ä?#&=+", "🔑", "..a", "a.json", "*"];
  for (const externalId of ids) await addKey(space, { externalId });
  for (const externalId of ids) {
    const { status, body } = await space.send(["GET", pathOf(externalId)]);
    expect([externalId, status, body.externalId]).toEqual([externalId, 200, externalId]);
    const changed = await change(space, externalId, { limits: [limit] });
    expect([externalId, changed.status, changed.body.externalId]).toEqual([externalId, 200, externalId]);
  }
  // Clients remove these from paths, so no consumer has them.
  for (const externalId of [".", ".."])
    expect((await space.call(["POST", ""], { externalId })).status).toBe(400);
  for (const path of ["%00", "%0A", "%20acme"])
    expect([path, (await space.send(["GET", `/consumers/${path}`])).status]).toEqual([path, 400]);
  for (const path of ["%ff", "%", "%E0%A4%A"])
    expect([path, (await space.send(["GET", `/consumers/${path}`])).status]).toEqual([
      path,
      path === "%" ? 200 : 404,
    ]);
});

test("all keys of a consumer share its limits, which apply to the next verification", async () => {
  const space = await addSpace();
  const keys = [
    await addKey(space, { externalId: "acme" }),
    await addKey(space, { externalId: "acme" }),
    await addKey(space, { externalId: "acme" }),
  ];
  const codes = async () => {
    const results: unknown[] = [];
    for (const { secret } of keys) results.push((await verify(space, secret)).code);
    return results;
  };
  expect(await codes()).toEqual(["VALID", "VALID", "VALID"]);
  const { status, body } = await change(space, "acme", { limits: [limit] });
  expect([status, body]).toMatchObject([200, { limits: [limit], version: 2, keyCount: 3 }]);
  expect(await codes()).toEqual(["VALID", "VALID", "RATE_LIMITED"]);
  await change(space, "acme", { limits: [{ ...limit, quota: 3 }] });
  expect(await codes()).toEqual(["VALID", "RATE_LIMITED", "RATE_LIMITED"]);
  await change(space, "acme", { limits: [] });
  expect(await codes()).toEqual(["VALID", "VALID", "VALID"]);
});

test("a change of limits removes what was spent from former ones, and keeps it for limits that keep their name", async () => {
  const space = await addSpace();
  const key = await addKey(space, { externalId: "acme" });
  const readWindows = async () => {
    const { rows } = await sql<{ windows: object | null }>`
      select windows from key_counters join consumers on id = key_id
      where keyspace_id = ${decodeId("keyspace", space.id)}`.execute(app.owner);
    return Object.keys(rows[0]?.windows ?? {}).toSorted();
  };
  await change(space, "acme", { limits: [limit, { ...limit, name: "exports" }] });
  expect((await verify(space, key.secret)).code).toBe("VALID");
  expect(await readWindows()).toEqual(["exports", "requests"]);
  await change(space, "acme", {
    limits: [
      { ...limit, quota: 1 },
      { ...limit, name: "imports" },
    ],
  });
  expect(await readWindows()).toEqual(["requests"]);
  expect((await verify(space, key.secret)).code).toBe("RATE_LIMITED");
  await change(space, "acme", { limits: [] });
  expect(await readWindows()).toEqual([]);
});

test("every change of limits is in the audit log, and an old version is rejected", async () => {
  const space = await addSpace();
  await addKey(space, { externalId: "acme" });
  const { etag } = await space.send(["GET", pathOf("acme")]);
  expect((await change(space, "acme", { limits: [limit] }, { "If-Match": etag })).status).toBe(200);
  expect((await change(space, "acme", { limits: [] }, { "If-Match": etag })).status).toBe(412);
  await change(space, "acme", { limits: [limit] });
  await change(space, "acme", { limits: [] });
  const target = { action: "consumer.changed" };
  expect((await listEvents(space)).slice(1)).toEqual([
    { ...target, before: { limits: null }, after: { externalId: "acme", limits: "requests 2/3600s" } },
    { ...target, before: { limits: "requests 2/3600s" }, after: { externalId: "acme", limits: null } },
  ]);
});

test("the events of a consumer are found by its id", async () => {
  const space = await addSpace();
  for (const externalId of ["acme", "globex"]) {
    await addKey(space, { externalId });
    await change(space, externalId, { limits: [limit] });
  }
  const { id } = (await space.send(["GET", pathOf("acme")])).body;
  const path = `${space.team.path}/audit-events?targetId=${id}`;
  const { body } = await createOpenClient(() => app).send(space.team.owner.secret, ["GET", path]);
  expect(body.data).toMatchObject([{ target: { kind: "consumer", id }, after: { externalId: "acme" } }]);
});

test("rejects unknown consumers and keyspaces, and invalid limits", async () => {
  const space = await addSpace();
  const other = await addSpace({}, space.team);
  await addKey(other, { externalId: "acme" });
  for (const reply of [
    await space.send(["GET", pathOf("acme")]),
    await change(space, "acme", { limits: [] }),
  ])
    expect([reply.status, reply.body.error]).toMatchObject([404, { code: "NOT_FOUND" }]);
  for (const [body, path] of [
    [{}, ""],
    [{ limits: [limit, limit] }, "limits"],
    [{ limits: {} }, "limits"],
    [{ externalId: "x" }, "externalId"],
  ] as const) {
    const reply = await change(other, "acme", body);
    expect([reply.status, reply.body.error]).toMatchObject([400, { issues: [{ path }] }]);
  }
  const unknown = await space.send(["GET", `/../ks_01h455vb4pex5vsknk084sn02q/consumers`]);
  expect(unknown.status).toBe(404);
});

test("the list is searched by the first part of an external ID, sorted and paged", async () => {
  const space = await addSpace();
  for (const externalId of ["customer_2", "Customer_1", "100%", "customer_3", "globex"])
    await addKey(space, { externalId });
  const list = async (query: string) => {
    const { status, body } = await space.send(["GET", `/consumers?${query}`]);
    expect([query, status]).toEqual([query, 200]);
    return (body.data ?? []).map(({ externalId }) => externalId);
  };
  expect(await list("")).toEqual(["customer_2", "Customer_1", "100%", "customer_3", "globex"]);
  expect(await list("sort=externalId")).toEqual(["100%", "Customer_1", "customer_2", "customer_3", "globex"]);
  expect(await list("search=CUSTOMER&sort=-externalId")).toEqual(["customer_3", "customer_2", "Customer_1"]);
  expect(await list("search=customer")).toEqual(["customer_2", "Customer_1", "customer_3"]);
  expect(await list(`search=${encodeURIComponent("100%")}`)).toEqual(["100%"]);
  expect(await list("search=c_stomer")).toEqual([]);
  const seen: unknown[] = [];
  for (let cursor: unknown = ""; cursor !== null; ) {
    const path = `/consumers?sort=externalId&limit=2${cursor ? `&cursor=${cursor}` : ""}`;
    const { body } = await space.send(["GET", path]);
    seen.push(...(body.data ?? []).map(({ externalId }) => externalId));
    cursor = body.nextCursor;
  }
  expect(seen).toEqual(["100%", "Customer_1", "customer_2", "customer_3", "globex"]);
});

test("keys are added to a consumer and its limits are changed at the same time", async () => {
  const space = await addSpace();
  await addKey(space, { externalId: "acme" });
  const rounds = Array.from({ length: 5 }, (_, round) => round);
  await Promise.all([
    ...rounds.map(() => addKey(space, { externalId: "acme" })),
    ...rounds.map(async (round) => {
      const { status } = await change(space, "acme", { limits: [{ ...limit, quota: round + 100 }] });
      expect(status).toBe(200);
    }),
  ]);
  const { body } = await space.send(["GET", pathOf("acme")]);
  expect(body).toMatchObject({ keyCount: 6, version: 6 });
  const { rows } = await sql<{ version: number }>`
    select owner.version from owner_versions owner join consumers on consumers.id = owner_id
    where keyspace_id = ${decodeId("keyspace", space.id)}`.execute(app.owner);
  expect(rows).toEqual([{ version: 5 }]);
});

test("the first keys of a consumer are created while its limits are changed", async () => {
  const space = await addSpace();
  for (let round = 0; round < 5; round += 1) {
    const externalId = `first ${round}`;
    const quotas = [2, 3, 4];
    const [keys, replies] = await Promise.all([
      Promise.all([addKey(space, { externalId }), addKey(space, { externalId })]),
      Promise.all(quotas.map((quota) => change(space, externalId, { limits: [{ ...limit, quota }] }))),
    ]);
    const changes = replies.filter(({ status }) => status === 200);
    // A consumer exists from its first key.
    expect(replies.filter(({ status }) => status === 404)).toHaveLength(quotas.length - changes.length);
    const before = (await space.send(["GET", pathOf(externalId)])).body;
    expect(before).toMatchObject({ keyCount: 2, version: 1 + changes.length });
    const sent = changes.map(({ body }) => body.limits);
    if (changes.length > 0) expect(sent).toContainEqual(before.limits);
    else expect(before.limits).toEqual([]);
    // Both keys belong to the one consumer, whose limits they share.
    expect((await change(space, externalId, { limits: [{ ...limit, quota: 1 }] })).status).toBe(200);
    const codes: unknown[] = [];
    for (const { secret } of keys) codes.push((await verify(space, secret)).code);
    expect(codes).toEqual(["VALID", "RATE_LIMITED"]);
  }
});

test("an edit locks the former consumer of a key before the counts of the keyspace, like the purge", async () => {
  const space = await addSpace();
  const { id } = await addKey(space, { externalId: "acme" });
  const keyspaceId = decodeId("keyspace", space.id);
  const release = await holdLocks(
    app.database,
    "select from consumers where keyspace_id = $1 and external_id = 'acme' for update",
    [keyspaceId],
  );
  const edit = space.call(["PATCH", `/${id}`], { externalId: "globex" });
  await expect.poll(() => countWaiting(app.owner)).toBe(1);
  // The purge, which holds the consumer, would wait for this row.
  await sql`
    select from issued_key_counts where keyspace_id = ${keyspaceId} for update nowait`.execute(app.owner);
  await release();
  expect(await edit).toMatchObject({ status: 200, body: { externalId: "globex" } });
});
