// The revocation of the old secrets of one's own API key, with another secret.
import { afterAll, beforeAll, expect, test } from "vitest";
import { createOpenClient } from "./open-client.ts";
import { addPerson, addTeam, type Person } from "./team.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const { send, statusOf } = createOpenClient(() => app);

type Settings = Parameters<Person["client"]["apiKeys"]["create"]["mutate"]>[0]["settings"];

interface RotatedKey {
  readonly id: string;
  readonly old: string;
  readonly current: string;
}

/** A key whose old secret is valid. */
async function addRotatedKey({ client }: Person, settings?: Settings): Promise<RotatedKey> {
  const { id, key: old } = await client.apiKeys.create.mutate({
    name: "Robot",
    ...(settings && { settings }),
  });
  const { key: current } = await client.apiKeys.rotate.mutate({ id, overlapSeconds: 3_600 });
  return { id, old, current };
}

const revoke = (secret: string, id: string, headers: Readonly<Record<string, string>> = {}) =>
  send(secret, ["POST", `/api-keys/${id}/revoke-old-secrets`], undefined, headers);

const statusesOf = ({ old, current }: RotatedKey) => Promise.all([old, current].map(statusOf));

const forbidden = { status: 403, body: { error: { code: "FORBIDDEN", message: "Insufficient access" } } };

test("another key of the user revokes all old secrets of a key, and those of other keys stay valid", async () => {
  const { owner, path } = await addTeam(app);
  const [key, other] = [await addRotatedKey(owner), await addRotatedKey(owner)];
  const { status, body, etag } = await revoke(owner.secret, key.id);
  expect([status, body]).toMatchObject([200, { id: key.id, formerSecrets: [], version: 3 }]);
  expect(body).not.toHaveProperty("key");
  const shown = await send(owner.secret, ["GET", `/api-keys/${key.id}`]);
  expect(shown).toMatchObject({ etag, body });
  expect(await statusesOf(key)).toEqual([403, 200]);
  expect(await statusesOf(other)).toEqual([200, 200]);
  expect(await revoke(owner.secret, key.id)).toMatchObject({ status: 200, body: { version: 3 } });
  const events = await send(owner.secret, ["GET", `${path}/audit-events?sort=occurredAt&targetId=${key.id}`]);
  expect(events.body.data?.map(({ action }) => action)).toEqual([
    "key.created",
    "key.rotated",
    "key.former-secrets-revoked",
  ]);
});

test("the current secret of a key revokes its old ones, and an old one can't", async () => {
  const person = await addPerson(app);
  const key = await addRotatedKey(person);
  expect(await revoke(key.old, key.id)).toMatchObject(forbidden);
  expect(await statusesOf(key)).toEqual([200, 200]);
  expect(await revoke(key.current, key.id)).toMatchObject({ status: 200 });
  expect(await statusesOf(key)).toEqual([403, 200]);
});

test.each<[string, Settings]>([
  ["restricted to a permission", { permissions: ["members:read"] }],
  ["restricted to reading", { isReadOnly: true }],
])(
  "a key that is %s revokes its own old secrets only, as it rotates only itself",
  async (_what, settings) => {
    const person = await addPerson(app);
    const [key, restricted] = [await addRotatedKey(person), await addRotatedKey(person, settings)];
    expect(await revoke(restricted.current, key.id)).toMatchObject(forbidden);
    expect(await statusesOf(key)).toEqual([200, 200]);
    expect(await revoke(restricted.current, restricted.id)).toMatchObject({ status: 200 });
    expect(await statusesOf(restricted)).toEqual([403, 200]);
  },
);

test("the key of another user and one that doesn't exist get the same 403, and a deleted one 404", async () => {
  const [person, stranger] = [await addPerson(app), await addPerson(app)];
  const key = await addRotatedKey(stranger);
  expect(await revoke(person.secret, key.id)).toMatchObject(forbidden);
  expect(await revoke(person.secret, "key_01h455vb4pex5vsknk084sn02q")).toMatchObject(forbidden);
  expect(await statusesOf(key)).toEqual([200, 200]);
  await stranger.client.apiKeys.delete.mutate({ id: key.id });
  expect((await revoke(stranger.secret, key.id)).status).toBe(404);
});

test("a service account revokes the old secrets of its own keys, and the owner of its workspace can't do it here", async () => {
  const { owner, id: workspaceId } = await addTeam(app);
  const account = await owner.client.serviceAccounts.create.mutate({
    workspaceId,
    name: "Deploys",
    role: "viewer",
  });
  const { userId } = account;
  const { id, key } = await owner.client.serviceAccounts.createKey.mutate({
    workspaceId,
    userId,
    name: "Pipeline",
  });
  const { key: current } = await owner.client.apiKeys.rotate.mutate({ id, overlapSeconds: 3_600 });
  expect(await revoke(owner.secret, id)).toMatchObject(forbidden);
  expect(await statusOf(key)).toBe(200);
  expect(await revoke(current ?? "", id)).toMatchObject({ status: 200 });
  expect(await statusOf(key)).toBe(403);
});

test("with If-Match, a key that has changed keeps its old secrets; a retry gets the same response", async () => {
  const person = await addPerson(app);
  const key = await addRotatedKey(person);
  const { etag } = await send(person.secret, ["GET", `/api-keys/${key.id}`]);
  expect((await revoke(person.secret, key.id, { "If-Match": '"1"' })).status).toBe(412);
  expect(await statusOf(key.old)).toBe(200);
  const headers = { "If-Match": etag, "Idempotency-Key": "one" };
  const revoked = await revoke(person.secret, key.id, headers);
  expect(revoked.status).toBe(200);
  expect(await revoke(person.secret, key.id, headers)).toMatchObject({ ...revoked, replayed: "true" });
});
