import { hourlyBucket } from "@latchkey/db/throttle-buckets";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { createWorkspace } from "../src/domain/workspaces.ts";
import { defineEndpoint } from "../src/http/endpoint.ts";
import { secretStatus } from "../src/schemas.ts";
import { createIssuedKeyClient } from "./issued-key-client.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

const things = z.object({ id: z.string(), key: z.string().optional(), secretStatus }).meta({ id: "Thing" });
let shouldFailNext = false;
/** The secret that a retry gets; undefined if the issued secret was used. */
let replacement: string | undefined;
/** A request with `waits` resolves `startSignal` when it has started, and then waits for `continueSignal`. */
let startSignal = Promise.withResolvers<void>();
let continueSignal = Promise.withResolvers<void>();

/** Creates a workspace and returns a secret. Waits for `continueSignal` or fails if the test requires it. */
const createThing = defineEndpoint({
  method: "POST",
  path: "/things",
  operationId: "createThing",
  summary: "Create a thing",
  description: "For tests of retries.",
  access: "key",
  request: { body: z.strictObject({ name: z.string(), waits: z.boolean().optional() }) },
  response: { status: 201, description: "The result.", schema: things },
  secret: { member: "key", reissue: async () => (replacement ? { key: replacement } : undefined) },
  errors: ["CONFLICT", "UNPROCESSABLE_CONTENT"],
  handle: async ({ body }, { transact, principal: { userId }, origin }) =>
    await transact(async (trx) => {
      const { id } = await createWorkspace(trx, { name: body.name, ownerId: userId, origin }, defaultQuotas);
      if (body.waits) {
        startSignal.resolve();
        await continueSignal.promise;
      }
      if (shouldFailNext) {
        shouldFailNext = false;
        throw new Error("A bug.");
      }
      return { id, key: "a secret", secretStatus: "issued" as const };
    }),
});

/** Creates a workspace and returns no body. */
const createOrder = defineEndpoint({
  method: "POST",
  path: "/orders",
  operationId: "createOrder",
  summary: "Order a thing",
  description: "For tests of retries.",
  access: "key",
  request: { body: z.strictObject({ name: z.string() }) },
  response: { status: 204 },
  errors: ["CONFLICT", "UNPROCESSABLE_CONTENT"],
  handle: async ({ body }, { transact, principal: { userId }, origin }) => {
    await transact((trx) =>
      createWorkspace(trx, { name: body.name, ownerId: userId, origin }, defaultQuotas),
    );
    return undefined;
  },
});

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ extraEndpoints: [createThing, createOrder] });
});
afterAll(() => app.close());

interface IdempotentRequest {
  readonly secret: string;
  readonly name: string | undefined;
  readonly body: object;
  readonly path?: string;
}

async function send({ secret, name, body, path = "/open/workspaces" }: IdempotentRequest) {
  const response = await fetch(app.baseUrl + path, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${secret}`,
      "Content-Type": "application/json",
      ...(name === undefined ? {} : { "Idempotency-Key": name }),
    },
    body: JSON.stringify(body),
  });
  return {
    status: response.status,
    replayed: response.headers.get("idempotent-replayed"),
    etag: response.headers.get("etag"),
    retryAfter: response.headers.get("retry-after"),
    // Not validated, because the tests check the members.
    body: (response.status === 204 ? undefined : await response.json()) as Record<string, unknown>,
  };
}

async function countWorkspaces(name: string): Promise<number> {
  const rows = await app.owner.selectFrom("workspaces").select("id").where("name", "=", name).execute();
  return rows.length;
}

test("a retry is not carried out again, and gets the first response", async () => {
  const { secret } = await app.addKey();
  const request = { secret, name: "order-1", body: { name: "Once" } };
  const first = await send(request);
  expect(first).toMatchObject({ status: 201, replayed: null, body: { name: "Once", role: "owner" } });
  const second = await send(request);
  expect(second).toEqual({ ...first, replayed: "true" });
  expect(await countWorkspaces("Once")).toBe(1);
});

test("without an idempotency key, or with another one, a request is carried out again", async () => {
  const { secret } = await app.addKey();
  const body = { name: "Many" };
  for (const name of [undefined, undefined, "a", "b"])
    expect(await send({ secret, name, body })).toMatchObject({ status: 201, replayed: null });
  expect(await countWorkspaces("Many")).toBe(4);
});

test("idempotency keys are scoped to a user, whichever API key is used, and to a path", async () => {
  const { userId, secret } = await app.addKey();
  const sibling = await app.addKey(userId);
  const stranger = await app.addKey();
  const body = { name: "Mine" };
  expect(await send({ secret, name: "shared", body })).toMatchObject({ status: 201, replayed: null });
  expect(await send({ secret: sibling.secret, name: "shared", body })).toMatchObject({ replayed: "true" });
  expect(await send({ secret: stranger.secret, name: "shared", body })).toMatchObject({
    status: 201,
    replayed: null,
  });
  expect(await send({ secret, name: "shared", body, path: "/open/things" })).toMatchObject({
    status: 201,
    replayed: null,
  });
});

test("reusing an idempotency key with another body is rejected, and changes nothing", async () => {
  const { secret } = await app.addKey();
  await send({ secret, name: "taken", body: { name: "First" } });
  expect(await send({ secret, name: "taken", body: { name: "Second" } })).toMatchObject({
    status: 422,
    body: { error: { code: "UNPROCESSABLE_CONTENT" } },
  });
  expect(await countWorkspaces("Second")).toBe(0);
});

test("a retry while the first request is in flight gets 409 with Retry-After", async () => {
  const { secret } = await app.addKey();
  const request = { secret, name: "slow", body: { name: "Slow", waits: true }, path: "/open/things" };
  startSignal = Promise.withResolvers<void>();
  continueSignal = Promise.withResolvers<void>();
  const first = send(request);
  await startSignal.promise;
  expect(await send(request)).toMatchObject({
    status: 409,
    retryAfter: "1",
    body: { error: { code: "CONFLICT" } },
  });
  continueSignal.resolve();
  expect(await first).toMatchObject({ status: 201 });
  expect(await send(request)).toMatchObject({ status: 201, replayed: "true" });
  expect(await countWorkspaces("Slow")).toBe(1);
});

test("of 20 concurrent requests with one idempotency key, one is carried out", async () => {
  const { secret } = await app.addKey();
  const request = { secret, name: "parallel", body: { name: "Parallel" } };
  const responses = await Promise.all(Array.from({ length: 20 }, () => send(request)));
  expect(new Set(responses.map(({ status }) => status)).difference(new Set([201, 409]))).toEqual(new Set());
  expect(responses.filter(({ status, replayed }) => status === 201 && !replayed)).toHaveLength(1);
  expect(await countWorkspaces("Parallel")).toBe(1);
});

test("a failed request is rolled back and not recorded, so that it can be retried", async () => {
  const { secret } = await app.addKey();
  const request = { secret, name: "unlucky", body: { name: "Unlucky" }, path: "/open/things" };
  shouldFailNext = true;
  expect(await send(request)).toMatchObject({ status: 500 });
  expect(await countWorkspaces("Unlucky")).toBe(0);
  expect(await send(request)).toMatchObject({ status: 201, replayed: null });
  expect(await countWorkspaces("Unlucky")).toBe(1);
});

test("a retry gets a new secret until a secret is used, and no secret is stored", async () => {
  const { secret } = await app.addKey();
  const request = { secret, name: "secret", body: { name: "Secret" }, path: "/open/things" };
  const { body } = await send(request);
  expect(body).toEqual({ id: expect.any(String), key: "a secret", secretStatus: "issued" });
  const { id } = body;
  replacement = "a new secret";
  const reissued = { id, key: "a new secret", secretStatus: "reissued" };
  expect(await send(request)).toMatchObject({ status: 201, replayed: "true", body: reissued });
  replacement = undefined;
  expect(await send(request)).toMatchObject({ status: 201, replayed: "true" });
  expect((await send(request)).body).toEqual({ id, secretStatus: "omitted" });
  const stored = await sql<{ text: string }>`
    select idempotency_records::text as text from idempotency_records`.execute(app.owner);
  expect(JSON.stringify(stored.rows)).not.toMatch(/a (new )?secret/);
});

test("a response without a body is replayed without a body", async () => {
  const { secret } = await app.addKey();
  const request = { secret, name: "order", body: { name: "Ordered" }, path: "/open/orders" };
  expect(await send(request)).toMatchObject({ status: 204, replayed: null });
  expect(await send(request)).toMatchObject({ status: 204, replayed: "true" });
  expect(await countWorkspaces("Ordered")).toBe(1);
});

test("a rejected request is not recorded, so its idempotency key can be reused", async () => {
  const { secret } = await app.addKey();
  const request = { secret, name: "early", body: { name: 1 as unknown } };
  expect(await send(request)).toMatchObject({ status: 400 });
  expect(await send({ ...request, body: { name: "Now" } })).toMatchObject({ status: 201, replayed: null });
});

test("an idempotency key can be reused after 24 hours", async () => {
  const { secret } = await app.addKey();
  const request = { secret, name: "old", body: { name: "Old" } };
  await send(request);
  await sql`update idempotency_records set created_at = now() - interval '24 hours 1 second'`.execute(
    app.owner,
  );
  expect(await send(request)).toMatchObject({ status: 201, replayed: null });
  expect(await countWorkspaces("Old")).toBe(2);
  expect(await send(request)).toMatchObject({ status: 201, replayed: "true" });
});

test("beyond 100,000 new idempotency keys within an hour, only a new one is rejected, until part of the hour has passed", async () => {
  const { userId, secret } = await app.addKey();
  const sibling = await app.addKey(userId);
  const stranger = await app.addKey();
  const request = { secret, name: "last", body: { name: "Last" } };
  await send(request);
  // The quota stays reached for another hour.
  await sql`update throttle_buckets set full_at = clock_timestamp() + interval '2 hours'`.execute(app.owner);
  const next = { ...request, name: "next", body: { name: "Next" } };
  for (const limited of [next, { ...next, secret: sibling.secret }])
    expect(await send(limited)).toMatchObject({
      status: 429,
      retryAfter: expect.stringMatching(/^3[56]\d\d$/),
      body: { error: { code: "TOO_MANY_REQUESTS", message: expect.stringContaining("100,000 requests") } },
    });
  expect(await countWorkspaces("Next")).toBe(0);
  expect(await send(request)).toMatchObject({ status: 201, replayed: "true" });
  expect(await send({ ...request, name: undefined })).toMatchObject({ status: 201 });
  expect(await send({ ...next, secret: stranger.secret })).toMatchObject({ status: 201 });
  await sql`update throttle_buckets set full_at = full_at - interval '2 hours'`.execute(app.owner);
  expect(await send(next)).toMatchObject({ status: 201, replayed: null });
});

test("a stored response counts as one new idempotency key per 4 KiB, rounded up", async () => {
  const { addSpace } = createIssuedKeyClient(() => app);
  const space = await addSpace();
  const { digest, refillSeconds } = hourlyBucket(
    `idempotency records of ${space.team.owner.userId}`,
    100_000,
  );
  // Not full before the test ends, so that only new records change it.
  await sql`
    insert into throttle_buckets (digest, full_at) values (${digest}, clock_timestamp() + interval '30 minutes')`.execute(
    app.owner,
  );
  const readSeconds = async () => {
    const { rows } = await sql<{ seconds: number }>`
      select extract(epoch from full_at)::float8 as seconds from throttle_buckets where digest = ${digest}`.execute(
      app.owner,
    );
    return rows[0]?.seconds ?? 0;
  };
  const countFor = async (permissions: readonly string[]) => {
    const before = await readSeconds();
    const name = { "Idempotency-Key": `permissions-${permissions.length}` };
    expect((await space.call(["POST", ""], { permissions }, name)).status).toBe(201);
    return Math.round(((await readSeconds()) - before) / refillSeconds);
  };
  expect(await countFor([])).toBe(1);
  const long = (count: number) => Array.from({ length: count }, (_, index) => `${index}_`.padEnd(100, "x"));
  expect(await countFor(long(20))).toBe(1);
  expect(await countFor(long(100))).toBe(3);
});

test("a replay requires a valid API key", async () => {
  const { secret, id, userId } = await app.addKey();
  const request = { secret, name: "replayed", body: { name: "Replayed" } };
  await send(request);
  await app.deleteKey({ userId, id });
  expect(await send(request)).toMatchObject({ status: 403 });
});

test.each(["", "with space", "ü", "x".repeat(256)])("rejects the idempotency key %j", async (name) => {
  const { secret } = await app.addKey();
  const response = await fetch(`${app.baseUrl}/open/workspaces`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${secret}`,
      "Content-Type": "application/json",
      "Idempotency-Key": name === "ü" ? "\u00fc" : name,
    },
    body: JSON.stringify({ name: "Bad" }),
  });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { issues: [{ path: "Idempotency-Key" }] } });
});
