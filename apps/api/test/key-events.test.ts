// Changes to API keys in the audit logs of workspaces and in the security logs of key owners.
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { decodeId, encodeId, type KeyId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { Purger } from "@latchkey/db/purger";
import type { Role } from "@latchkey/db/role";
import { listSecurityEvents } from "@latchkey/db/security-events";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { createKey, deleteKey, updateKey } from "../src/domain/api-key-edits.ts";
import { rotateKey } from "../src/domain/api-key-secrets.ts";
import { addMember } from "../src/domain/members.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { createWorkspace, remove } from "../src/domain/workspaces.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

async function addWorkspace(ownerId: UserId, name: string): Promise<WorkspaceId> {
  const workspace = { name, ownerId, origin: commandOrigin };
  const { id } = await app.services.db
    .transaction()
    .execute((trx) => createWorkspace(trx, workspace, defaultQuotas));
  return id;
}

async function join(workspaceId: WorkspaceId, userId: UserId, role: Role): Promise<void> {
  const edit = { scope: openAsOperator(workspaceId), origin: commandOrigin };
  await app.services.db.transaction().execute((trx) => addMember(trx, edit, { userId, role }, defaultQuotas));
}

async function signIn() {
  const { email, userId } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  return { client, userId };
}

/** Reads the key events in the audit log of a workspace, oldest first. */
async function readAuditEvents(workspaceId: WorkspaceId) {
  const rows = await app.owner
    .selectFrom("audit_events")
    .select(["action", "before", "after", "actor_kind as actorKind", "target_id as targetId"])
    .where("workspace_id", "=", workspaceId)
    .where("target_kind", "=", "key")
    .orderBy("id")
    .execute();
  return rows;
}

test("every change to a key is in the logs of the workspaces that it can reach, and in its owner's security log", async () => {
  const { client, userId } = await signIn();
  const [first, second] = [await addWorkspace(userId, "First"), await addWorkspace(userId, "Second")];
  const foreign = await addWorkspace((await app.addUser()).userId, "Foreign");
  const { id } = await client.apiKeys.create.mutate({
    name: "CI",
    settings: { workspaceIds: [encodeId("workspace", first)], isReadOnly: true },
  });
  const edit = (settings: object, more: object = {}) =>
    client.apiKeys.update.mutate({ id, settings, mayExpand: true, ...more });
  await edit({}, { name: "Deploys", settings: undefined });
  await edit({ workspaceIds: [first, second].map((workspaceId) => encodeId("workspace", workspaceId)) });
  await edit({ ipRanges: ["127.0.0.0/8"] });
  await edit({ isDisabled: true });
  await edit({ isDisabled: false });
  await client.apiKeys.rotate.mutate({ id, overlapSeconds: 60 });
  await client.apiKeys.revokeOldSecrets.mutate({ id });
  // Without an old secret, nothing changes.
  await client.apiKeys.revokeOldSecrets.mutate({ id });
  await client.apiKeys.delete.mutate({ id });

  const inFirst = await readAuditEvents(first);
  const actions = [
    "key.created",
    "key.renamed",
    "key.expanded",
    "key.restricted",
    "key.disabled",
    "key.enabled",
    "key.rotated",
    "key.former-secrets-revoked",
    "key.deleted",
  ];
  expect(inFirst.map(({ action }) => action)).toEqual(actions);
  expect(new Set(inFirst.map(({ actorKind }) => actorKind))).toEqual(new Set(["session"]));
  expect(new Set(inFirst.map(({ targetId }) => targetId))).toEqual(new Set([decodeId("key", id)]));
  expect(inFirst[0]).toMatchObject({
    before: null,
    after: { name: "CI", isReadOnly: true, workspaces: "selected", canReachWorkspace: true },
  });
  expect(inFirst[1]).toMatchObject({ before: { name: "CI" }, after: { name: "Deploys" } });
  expect(inFirst[3]).toMatchObject({ before: { ipRanges: null }, after: { ipRanges: "127.0.0.0/8" } });
  expect(inFirst[6]).toMatchObject({ after: { overlapSeconds: 60 } });
  expect(inFirst[8]).toMatchObject({ before: { name: "Deploys" } });

  const inSecond = await readAuditEvents(second);
  // The key could not reach the second workspace before.
  expect(inSecond.map(({ action }) => action)).toEqual(actions.slice(2));
  expect(inSecond[0]).toMatchObject({
    before: { workspaces: "selected", canReachWorkspace: false },
    after: { workspaces: "selected", canReachWorkspace: true },
  });
  // The log of a workspace doesn't reveal which other workspaces a key can reach.
  const text = JSON.stringify(inSecond);
  for (const workspaceId of [first, second])
    for (const shown of [workspaceId, encodeId("workspace", workspaceId)]) expect(text).not.toContain(shown);
  expect(await readAuditEvents(foreign)).toEqual([]);

  const { items } = await client.securityLog.list.query({});
  expect(items.map(({ action }) => action)).toEqual([...actions.toReversed(), "sign-in.succeeded"]);
  expect(items.at(-2)).toMatchObject({
    actor: { kind: "session", keyId: null, isKeyDeleted: false },
    key: { id, name: "Deploys" },
    after: { name: "CI", isReadOnly: true, workspaceIds: encodeId("workspace", first) },
    address: "127.0.0.1",
    requestId: expect.any(String),
  });
});

test.each(["mayExpand", "mayWiden"])("an edit that expands access is rejected without %s", async (name) => {
  const { client } = await signIn();
  const { id } = await client.apiKeys.create.mutate({ name: "CI", settings: { isReadOnly: true } });
  const edit = { id, settings: { isReadOnly: false } };
  await expect(client.apiKeys.update.mutate(edit)).rejects.toMatchObject({
    data: { issues: [{ path: "isReadOnly", code: "expands_access" }] },
  });
  await client.apiKeys.update.mutate({ ...edit, [name]: true });
  expect(await client.apiKeys.get.query({ id })).toMatchObject({ isReadOnly: false });
});

test("a key for all workspaces is in the audit log of every workspace that its owner is a member of", async () => {
  const { userId } = await app.addUser();
  const host = await app.addUser();
  const [own, joined] = [await addWorkspace(userId, "Own"), await addWorkspace(host.userId, "Joined")];
  await join(joined, userId, "viewer");
  const { id: keyId } = await app.addKey(userId);
  for (const workspaceId of [own, joined])
    expect(await readAuditEvents(workspaceId)).toMatchObject([
      { action: "key.created", actorKind: "command", targetId: keyId },
    ]);
});

test("the deletion of a key by itself, and a reissued secret, are in the audit log", async () => {
  const { userId } = await app.addUser();
  const workspaceId = await addWorkspace(userId, "Team");
  const { secret, id: keyId } = await app.addKey(userId);
  const send = (method: string, path: string, secret: string, headers: object = {}) =>
    fetch(app.baseUrl + path, {
      method,
      headers: { Authorization: `Bearer ${secret}`, ...headers },
      ...("Content-Type" in headers ? { body: "{}" } : {}),
    });
  const rotate = async () => {
    const path = `/open/api-keys/${encodeId("key", keyId)}/rotate`;
    return (await (
      await send("POST", path, secret, { "Content-Type": "application/json", "Idempotency-Key": "one" })
    ).json()) as { key: string };
  };
  await rotate();
  const { key } = await rotate();
  expect((await send("POST", "/open/api-keys/current/revoke", key)).status).toBe(204);
  const actions = (await readAuditEvents(workspaceId)).map(({ action, actorKind }) => [action, actorKind]);
  expect(actions).toEqual([
    ["key.created", "command"],
    ["key.rotated", "key"],
    ["key.secret-reissued", "key"],
    ["key.deleted", "key"],
  ]);
  const events = await listSecurityEvents(app.owner, userId, {
    sort: "occurredAt",
    direction: "desc",
    limit: 10,
  });
  expect(events.map(({ actorKeyId, isActorKeyDeleted }) => [actorKeyId, isActorKeyDeleted])).toEqual([
    [keyId, true],
    [keyId, true],
    [keyId, true],
    [null, false],
  ]);
});

test("a retry that doesn't issue another secret is in no log", async () => {
  const { userId } = await app.addUser();
  const workspaceId = await addWorkspace(userId, "Team");
  const { secret, id: keyId } = await app.addKey(userId);
  const send = (secret: string, path: string, headers: object = {}) =>
    fetch(`${app.baseUrl}/open${path}`, {
      ...(path === "/me" ? {} : { method: "POST", body: "{}" }),
      headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json", ...headers },
    });
  const path = `/api-keys/${encodeId("key", keyId)}/rotate`;
  const { key } = (await (await send(secret, path, { "Idempotency-Key": "one" })).json()) as { key: string };
  expect((await send(key, "/me")).status).toBe(200);
  expect(await (await send(secret, path, { "Idempotency-Key": "one" })).json()).toMatchObject({
    secretStatus: "omitted",
  });
  expect((await readAuditEvents(workspaceId)).map(({ action }) => action)).toEqual([
    "key.created",
    "key.rotated",
  ]);
});

test("a change that is rolled back is in no log", async () => {
  const { userId } = await app.addUser();
  const workspaceId = await addWorkspace(userId, "Team");
  const { id } = await app.addKey(userId);
  const edit = { userId, id, origin: commandOrigin };
  const failure = new Error("rolled back");
  await expect(
    app.services.db.transaction().execute(async (trx) => {
      await rotateKey(trx, edit, 0, defaultQuotas);
      throw failure;
    }),
  ).rejects.toBe(failure);
  expect((await readAuditEvents(workspaceId)).map(({ action }) => action)).toEqual(["key.created"]);
  const events = app.owner.selectFrom("security_events").select("action").where("user_id", "=", userId);
  expect(await events.execute()).toEqual([{ action: "key.created" }]);
});

test("concurrent changes to keys and the deletion of a workspace they can reach all succeed", async () => {
  const deletedIds: WorkspaceId[] = [];
  for (let round = 0; round < 10; round += 1) {
    const { userId } = await app.addUser();
    const [kept, deleted] = [await addWorkspace(userId, "Kept"), await addWorkspace(userId, "Deleted")];
    const edits = await Promise.all(
      Array.from({ length: 4 }, async () => ({
        userId,
        id: (await app.addKey(userId)).id as KeyId,
        origin: commandOrigin,
      })),
    );
    const run = <Result>(work: Parameters<ReturnType<typeof app.services.db.transaction>["execute"]>[0]) =>
      app.services.db.transaction().execute(work) as Promise<Result>;
    const [one, other, third, last] = edits as [(typeof edits)[0], ...typeof edits];
    await Promise.all([
      run((trx) => updateKey(trx, one, { settings: { isReadOnly: true }, mayExpand: false }, defaultQuotas)),
      run((trx) => rotateKey(trx, other as typeof one, 60, defaultQuotas)),
      run((trx) => remove(trx, { scope: openAsOperator(deleted), origin: commandOrigin })),
      run((trx) => deleteKey(trx, third as typeof one)),
      run((trx) =>
        createKey(trx, { userId, name: "new", description: "", origin: commandOrigin }, defaultQuotas),
      ),
      run((trx) => updateKey(trx, last as typeof one, { name: "Renamed", mayExpand: false }, defaultQuotas)),
    ]);
    expect((await readAuditEvents(kept)).map(({ action }) => action).sort()).toEqual([
      ...Array(5).fill("key.created"),
      "key.deleted",
      "key.renamed",
      "key.restricted",
      "key.rotated",
    ]);
    deletedIds.push(deleted);
  }
  const purger = new Purger({ connection: { ...inject("postgres"), database: app.database } });
  await purger.run();
  await purger.close();
  for (const id of deletedIds) expect(await readAuditEvents(id)).toEqual([]);
});

test("the audit logs of workspaces list the first ten IP ranges, and the owner's security log all of them", async () => {
  const { client, userId } = await signIn();
  const workspaceId = await addWorkspace(userId, "Ranges");
  const ipRanges = Array.from({ length: 25 }, (_, host) => `203.0.113.${host}`);
  await client.apiKeys.create.mutate({ name: "Many", settings: { ipRanges } });
  const [event] = await readAuditEvents(workspaceId);
  expect(event?.after?.ipRanges).toBe(`${ipRanges.slice(0, 10).join(", ")} and 15 more`);
  const { items } = await client.securityLog.list.query({});
  expect(items[0]?.after?.ipRanges).toBe(ipRanges.join(", "));
});
