// The revocation of the old secrets of an API key of a service account.
import { decodeId } from "@latchkey/db/ids";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createOpenClient } from "./open-client.ts";
import { addTeam, join, type Team } from "./team.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const { send, statusOf } = createOpenClient(() => app);

interface ServiceKey {
  readonly team: Team;
  readonly id: string;
  readonly secret: string;
  /** The path under `/open`. */
  readonly path: string;
}

/** A key of a service account that is a viewer. */
async function addServiceKey(known?: Team): Promise<ServiceKey> {
  const team = known ?? (await addTeam(app));
  const account = { workspaceId: team.id, name: "Deploys", role: "viewer" } as const;
  const { userId } = await team.owner.client.serviceAccounts.create.mutate(account);
  const path = `${team.path}/service-accounts/${userId}/api-keys`;
  const { body } = await send(team.owner.secret, ["POST", path], { name: "Pipeline" });
  const id = String(body.id);
  return { team, id, secret: String(body.key), path: `${path}/${id}` };
}

/** Rotates a key with an overlap. Returns the new secret. */
async function rotate({ team, path }: ServiceKey): Promise<string> {
  const { body } = await send(team.owner.secret, ["POST", `${path}/rotate`], { overlapSeconds: 3_600 });
  return String(body.key);
}

const read = ({ team, path }: ServiceKey) => send(team.owner.secret, ["GET", path]);

const revoke = (
  { team, path }: ServiceKey,
  headers: Readonly<Record<string, string>> = {},
  secret = team.owner.secret,
) => send(secret, ["POST", `${path}/revoke-old-secrets`], undefined, headers);

const statusesOf = (...secrets: readonly string[]) => Promise.all(secrets.map(statusOf));

/** The actions of the events about a key, oldest first. */
async function listActions({ team, id }: ServiceKey): Promise<readonly unknown[]> {
  const path = `${team.path}/audit-events?sort=occurredAt&targetId=${id}`;
  const { body } = await send(team.owner.secret, ["GET", path]);
  return (body.data ?? []).map(({ action }) => action);
}

test("an admin revokes all old secrets of a key, and those of other keys stay valid", async () => {
  const key = await addServiceKey();
  const other = await addServiceKey(key.team);
  const admin = await join(app, key.team, "admin");
  const secrets = [key.secret, await rotate(key), await rotate(key)];
  await rotate(other);
  const { status, body, etag } = await revoke(key, {}, admin.secret);
  expect([status, body]).toMatchObject([
    200,
    { id: key.id, name: "Pipeline", start: secrets[2]?.slice(0, 9), formerSecrets: [], version: 4 },
  ]);
  expect(body).not.toHaveProperty("key");
  const shown = await read(key);
  expect([etag, body]).toEqual([shown.etag, shown.body]);
  expect(await statusesOf(...secrets)).toEqual([403, 403, 200]);
  expect(await statusOf(other.secret)).toBe(200);
  expect(await listActions(key)).toEqual([
    "key.created",
    "key.rotated",
    "key.rotated",
    "key.former-secrets-revoked",
  ]);
});

test("a key without valid old secrets keeps its version, and gets no event", async () => {
  const key = await addServiceKey();
  const first = await read(key);
  expect(await revoke(key)).toMatchObject({ status: 200, etag: first.etag, body: first.body });
  await rotate(key);
  const replies = await Promise.all([revoke(key), revoke(key)]);
  expect(replies.map(({ status, body }) => [status, body.version])).toEqual([
    [200, 3],
    [200, 3],
  ]);
  expect(await listActions(key)).toEqual(["key.created", "key.rotated", "key.former-secrets-revoked"]);
});

test("with If-Match, a key that has changed keeps its old secrets", async () => {
  const key = await addServiceKey();
  const { etag } = await read(key);
  await rotate(key);
  expect((await revoke(key, { "If-Match": etag })).status).toBe(412);
  expect(await statusOf(key.secret)).toBe(200);
  const rotated = await read(key);
  const retry = { "If-Match": rotated.etag, "Idempotency-Key": "one" };
  const revoked = await revoke(key, retry);
  expect(revoked.status).toBe(200);
  expect(await revoke(key, retry)).toMatchObject({ ...revoked, replayed: "true" });
  expect((await revoke(key, { "If-Match": rotated.etag })).status).toBe(412);
});

test("with an overlap of 0, a rotation doesn't revoke earlier old secrets", async () => {
  const key = await addServiceKey();
  const leaked = await rotate(key);
  await send(key.team.owner.secret, ["POST", `${key.path}/rotate`], { overlapSeconds: 0 });
  expect(await statusesOf(key.secret, leaked)).toEqual([200, 403]);
  await revoke(key);
  expect(await statusOf(key.secret)).toBe(403);
});

test("old secrets whose overlap has ended are revoked too, so that the clock can't make them valid again", async () => {
  const key = await addServiceKey();
  const keyId = decodeId("key", key.id);
  await rotate(key);
  await rotate(key);
  await sql`
    update retired_secrets set good_until = clock_timestamp()
    where key_id = ${keyId} and start = ${key.secret.slice(0, 9)}`.execute(app.owner);
  await revoke(key);
  const { rows } = await sql`
    select from retired_secrets where key_id = ${keyId} and good_until = '-infinity'`.execute(app.owner);
  expect(rows).toHaveLength(2);
});

test("members, restricted keys and other workspaces can't revoke, and a deleted key is not found", async () => {
  const key = await addServiceKey();
  const secret = await rotate(key);
  const member = await join(app, key.team, "member");
  const foreign = await addServiceKey();
  const restricted = await join(app, key.team, "admin");
  const [own] = (await restricted.client.apiKeys.list.query({})).items;
  await restricted.client.apiKeys.update.mutate({
    id: own?.id ?? "",
    settings: { ipRanges: ["127.0.0.0/8", "::/0"] },
  });
  for (const caller of [member.secret, restricted.secret, foreign.team.owner.secret, secret])
    expect((await revoke(key, {}, caller)).status).toBe(403);
  const underForeign = key.path.replace(key.team.path, foreign.team.path);
  expect((await revoke({ ...foreign, path: underForeign })).status).toBe(404);
  expect(await statusOf(key.secret)).toBe(200);
  await send(key.team.owner.secret, ["DELETE", key.path]);
  expect((await revoke(key)).status).toBe(404);
});
