// The revocation of the old secrets of an issued key.
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createIssuedKeyClient, type Space } from "./issued-key-client.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const { addSpace, addKey, readCounter, listEvents, verify } = createIssuedKeyClient(() => app);

/** Rotates a key with an overlap. Returns the new secret. */
async function rotate({ call }: Space, id: string): Promise<string> {
  const body = { overlapSeconds: 3_600 };
  const reply = await call(["POST", `/${id}/rotate`], body);
  return String(reply.body.key);
}

const revoke = ({ call }: Space, id: string, headers: Readonly<Record<string, string>> = {}) =>
  call(["POST", `/${id}/revoke-old-secrets`], undefined, headers);

async function codesOf(space: Space, secrets: readonly string[]): Promise<unknown[]> {
  const codes: unknown[] = [];
  for (const secret of secrets) codes.push((await verify(space, secret)).code);
  return codes;
}

test("all old secrets of the key are revoked, and those of other keys stay valid", async () => {
  const space = await addSpace();
  const [key, other] = [await addKey(space, { name: "Acme" }), await addKey(space)];
  const secrets = [key.secret, await rotate(space, key.id), await rotate(space, key.id)];
  await rotate(space, other.id);
  const { status, body, etag } = await revoke(space, key.id);
  expect([status, body]).toMatchObject([
    200,
    { id: key.id, name: "Acme", start: secrets[2]?.slice(0, 14), formerSecrets: [], version: 4 },
  ]);
  expect(body).not.toHaveProperty("key");
  expect(etag).toMatch(/^"4\./);
  expect(await codesOf(space, secrets)).toEqual(["NOT_FOUND", "NOT_FOUND", "VALID"]);
  expect(await codesOf(space, [other.secret])).toEqual(["VALID"]);
  expect((await space.call(["GET", `/${other.id}`])).body).toMatchObject({ version: 2 });
});

test("a key without valid old secrets keeps its version, and gets no event", async () => {
  const space = await addSpace();
  const { id } = await addKey(space);
  const first = await space.call(["GET", `/${id}`]);
  expect(await revoke(space, id)).toMatchObject({ status: 200, etag: first.etag, body: first.body });
  await rotate(space, id);
  const replies = await Promise.all([revoke(space, id), revoke(space, id)]);
  expect(replies.map(({ status, body }) => [status, body.version])).toEqual([
    [200, 3],
    [200, 3],
  ]);
  const actions = (await listEvents(space)).map(({ action }) => action);
  expect(actions).toEqual(["issued-key.created", "issued-key.rotated", "issued-key.former-secrets-revoked"]);
});

test("the event has the name and the first characters of the current secret, and no secret", async () => {
  const space = await addSpace();
  const { id, secret } = await addKey(space, { name: "Acme" });
  const current = await rotate(space, id);
  await revoke(space, id);
  const event = (await listEvents(space)).at(-1);
  expect(event).toEqual({
    action: "issued-key.former-secrets-revoked",
    before: null,
    after: { name: "Acme", start: current.slice(0, 14) },
  });
  for (const text of [secret, current]) expect(JSON.stringify(event)).not.toContain(text);
});

test("with If-Match, a key that has changed keeps its old secrets", async () => {
  const space = await addSpace();
  const { id, secret } = await addKey(space);
  const { etag } = await space.call(["GET", `/${id}`]);
  await rotate(space, id);
  expect((await revoke(space, id, { "If-Match": etag })).status).toBe(412);
  expect(await codesOf(space, [secret])).toEqual(["VALID"]);
  const rotated = await space.call(["GET", `/${id}`]);
  const retry = { "If-Match": rotated.etag, "Idempotency-Key": "one" };
  const revoked = await revoke(space, id, retry);
  expect(revoked.status).toBe(200);
  expect(await revoke(space, id, retry)).toMatchObject({ ...revoked, replayed: "true" });
  expect((await revoke(space, id, { "If-Match": rotated.etag })).status).toBe(412);
});

test("old secrets whose overlap has ended are revoked too, so that the clock can't make them valid again", async () => {
  const space = await addSpace();
  const { id, uuid } = await addKey(space);
  await rotate(space, id);
  await rotate(space, id);
  await sql`
    update retired_issued_secrets set good_until = clock_timestamp()
    where key_id = ${uuid} and retired_at = (select min(retired_at) from retired_issued_secrets where key_id = ${uuid})`.execute(
    app.owner,
  );
  const before = await readCounter(uuid);
  await revoke(space, id);
  const { rows } = await sql`
    select from retired_issued_secrets where key_id = ${uuid} and good_until = '-infinity'`.execute(
    app.owner,
  );
  expect(rows).toHaveLength(2);
  expect((await readCounter(uuid))?.version).toBe((before?.version ?? 0) + 1);
});

test("a retried rotation still replaces its unused secret, and the old secrets stay revoked", async () => {
  const space = await addSpace();
  const { id, secret } = await addKey(space);
  const repeat = () => space.call(["POST", `/${id}/rotate`], {}, { "Idempotency-Key": "one" });
  const first = await repeat();
  await revoke(space, id);
  const second = await repeat();
  expect(second.body).toMatchObject({ secretStatus: "reissued", formerSecrets: [] });
  const secrets = [secret, String(first.body.key), String(second.body.key)];
  expect(await codesOf(space, secrets)).toEqual(["NOT_FOUND", "NOT_FOUND", "VALID"]);
});

test("with an overlap of 0, a rotation doesn't revoke earlier old secrets", async () => {
  const space = await addSpace();
  const { id, secret } = await addKey(space);
  const leaked = await rotate(space, id);
  await space.call(["POST", `/${id}/rotate`], { overlapSeconds: 0 });
  expect(await codesOf(space, [secret, leaked])).toEqual(["VALID", "NOT_FOUND"]);
  await revoke(space, id);
  expect(await codesOf(space, [secret])).toEqual(["NOT_FOUND"]);
});
