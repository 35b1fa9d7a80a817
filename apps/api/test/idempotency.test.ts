import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { createWorkspace } from "../src/domain/workspaces.ts";
import { defineEndpoint } from "../src/http/endpoint.ts";
import { secretStatus } from "../src/schemas.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

const things = z.object({ id: z.string(), key: z.string().optional(), secretStatus }).meta({ id: "Thing" });
let failsNext = false;
/** What the secrets issued so far are replaced by; undefined for secrets that were used. */
let replacement: string | undefined;
/** The request that waits has begun, and may go on. */
let begun = Promise.withResolvers<void>();
let ways = Promise.withResolvers<void>();

/** Makes a workspace, answers a secret, takes as long as it is told to, and fails when it is told to. */
const createThing = defineEndpoint({
  method: "POST",
  path: "/things",
  operationId: "createThing",
  summary: "Create a thing",
  description: "For tests of requests that come again.",
  access: "key",
  request: { body: z.strictObject({ name: z.string(), waits: z.boolean().optional() }) },
  response: { status: 201, schema: things },
  secret: { member: "key", reissue: async () => replacement },
  errors: ["CONFLICT", "UNPROCESSABLE_CONTENT"],
  handle: async ({ body }, { transact, principal: { userId }, origin }) =>
    await transact(async (trx) => {
      const { id } = await createWorkspace(trx, { name: body.name, ownerId: userId, origin }, defaultQuotas);
      if (body.waits) {
        begun.resolve();
        await ways.promise;
      }
      if (failsNext) {
        failsNext = false;
        throw new Error("A bug.");
      }
      return { id, key: "a secret", secretStatus: "issued" as const };
    }),
});

/** Makes a workspace and answers nothing. */
const orderThing = defineEndpoint({
  method: "POST",
  path: "/orders",
  operationId: "orderThing",
  summary: "Order a thing",
  description: "For tests of requests that come again.",
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
  app = await startTestApp({ more: [createThing, orderThing] });
});
afterAll(() => app.close());

interface Sending {
  readonly secret: string;
  readonly name: string | undefined;
  readonly body: object;
  readonly path?: string;
}

async function send({ secret, name, body, path = "/open/workspaces" }: Sending) {
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
    // What it holds is what is tested.
    body: (response.status === 204 ? undefined : await response.json()) as Record<string, unknown>,
  };
}

async function countWorkspaces(name: string): Promise<number> {
  const rows = await app.owner.selectFrom("workspaces").select("id").where("name", "=", name).execute();
  return rows.length;
}

test("a request that comes again is carried out once, and answered as the first time", async () => {
  const { secret } = await app.addKey();
  const sending = { secret, name: "order-1", body: { name: "Once" } };
  const first = await send(sending);
  expect(first).toMatchObject({ status: 201, replayed: null, body: { name: "Once", role: "owner" } });
  const second = await send(sending);
  expect(second).toEqual({ ...first, replayed: "true" });
  expect(await countWorkspaces("Once")).toBe(1);
});

test("without a name, or under another, it is another request", async () => {
  const { secret } = await app.addKey();
  const body = { name: "Many" };
  for (const name of [undefined, undefined, "a", "b"])
    expect(await send({ secret, name, body })).toMatchObject({ status: 201, replayed: null });
  expect(await countWorkspaces("Many")).toBe(4);
});

test("names belong to a user, whichever of their keys is used, and to a path", async () => {
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

test("the same name for another body is refused, and changes nothing", async () => {
  const { secret } = await app.addKey();
  await send({ secret, name: "taken", body: { name: "First" } });
  expect(await send({ secret, name: "taken", body: { name: "Second" } })).toMatchObject({
    status: 422,
    body: { error: { code: "UNPROCESSABLE_CONTENT" } },
  });
  expect(await countWorkspaces("Second")).toBe(0);
});

test("while the first is under way, the second is told to wait", async () => {
  const { secret } = await app.addKey();
  const sending = { secret, name: "slow", body: { name: "Slow", waits: true }, path: "/open/things" };
  begun = Promise.withResolvers<void>();
  ways = Promise.withResolvers<void>();
  const first = send(sending);
  await begun.promise;
  expect(await send(sending)).toMatchObject({
    status: 409,
    retryAfter: "1",
    body: { error: { code: "CONFLICT" } },
  });
  ways.resolve();
  expect(await first).toMatchObject({ status: 201 });
  expect(await send(sending)).toMatchObject({ status: 201, replayed: "true" });
  expect(await countWorkspaces("Slow")).toBe(1);
});

test("of 20 at once, one is carried out", async () => {
  const { secret } = await app.addKey();
  const sending = { secret, name: "crowd", body: { name: "Crowd" } };
  const answers = await Promise.all(Array.from({ length: 20 }, () => send(sending)));
  expect(new Set(answers.map(({ status }) => status)).difference(new Set([201, 409]))).toEqual(new Set());
  expect(answers.filter(({ status, replayed }) => status === 201 && !replayed)).toHaveLength(1);
  expect(await countWorkspaces("Crowd")).toBe(1);
});

test("a failure is not kept, and leaves nothing: the request can be sent again", async () => {
  const { secret } = await app.addKey();
  const sending = { secret, name: "unlucky", body: { name: "Unlucky" }, path: "/open/things" };
  failsNext = true;
  expect(await send(sending)).toMatchObject({ status: 500 });
  expect(await countWorkspaces("Unlucky")).toBe(0);
  expect(await send(sending)).toMatchObject({ status: 201, replayed: null });
  expect(await countWorkspaces("Unlucky")).toBe(1);
});

test("a secret is in the first answer, and another one in the next as long as none was used; none is kept", async () => {
  const { secret } = await app.addKey();
  const sending = { secret, name: "secret", body: { name: "Secret" }, path: "/open/things" };
  const { body } = await send(sending);
  expect(body).toEqual({ id: expect.any(String), key: "a secret", secretStatus: "issued" });
  const { id } = body;
  replacement = "a new secret";
  const reissued = { id, key: "a new secret", secretStatus: "reissued" };
  expect(await send(sending)).toMatchObject({ status: 201, replayed: "true", body: reissued });
  replacement = undefined;
  expect(await send(sending)).toMatchObject({ status: 201, replayed: "true" });
  expect((await send(sending)).body).toEqual({ id, secretStatus: "omitted" });
  const kept = await sql<{ text: string }>`
    select idempotency_records::text as text from idempotency_records`.execute(app.owner);
  expect(JSON.stringify(kept.rows)).not.toMatch(/a (new )?secret/);
});

test("an answer without a body comes again without one", async () => {
  const { secret } = await app.addKey();
  const sending = { secret, name: "order", body: { name: "Ordered" }, path: "/open/orders" };
  expect(await send(sending)).toMatchObject({ status: 204, replayed: null });
  expect(await send(sending)).toMatchObject({ status: 204, replayed: "true" });
  expect(await countWorkspaces("Ordered")).toBe(1);
});

test("a refusal of its own is not kept: once what was in its way is gone, the request is carried out", async () => {
  const { secret } = await app.addKey();
  const sending = { secret, name: "early", body: { name: 1 as unknown } };
  expect(await send(sending)).toMatchObject({ status: 400 });
  expect(await send({ ...sending, body: { name: "Now" } })).toMatchObject({ status: 201, replayed: null });
});

test("a day later a name is free again", async () => {
  const { secret } = await app.addKey();
  const sending = { secret, name: "old", body: { name: "Old" } };
  await send(sending);
  await sql`update idempotency_records set created_at = now() - interval '24 hours 1 second'`.execute(
    app.owner,
  );
  expect(await send(sending)).toMatchObject({ status: 201, replayed: null });
  expect(await countWorkspaces("Old")).toBe(2);
  expect(await send(sending)).toMatchObject({ status: 201, replayed: "true" });
});

test("a replay is admitted like any request: not for a key that is gone", async () => {
  const { secret, id, userId } = await app.addKey();
  const sending = { secret, name: "replayed", body: { name: "Replayed" } };
  await send(sending);
  await app.deleteKey({ userId, id });
  expect(await send(sending)).toMatchObject({ status: 403 });
});

test.each(["", "with space", "ü", "x".repeat(256)])("a name like %j is refused", async (name) => {
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
