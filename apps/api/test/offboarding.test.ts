// The API keys of a member who is to be removed or given another role, and the keys that replace them.
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { decodeId, encodeId, type WorkspaceId } from "@latchkey/db/ids";
import { insertMember } from "@latchkey/db/members";
import type { Role } from "@latchkey/db/role";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { createKey } from "../src/domain/api-key-edits.ts";
import { changeMemberRole } from "../src/domain/members.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

async function addPerson() {
  const { userId, email } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  return { client, userId, id: encodeId("user", userId) };
}

type Person = Awaited<ReturnType<typeof addPerson>>;

/** A workspace of Ada's with Grace as a member, who has another workspace too. */
async function addTeam(role: Role) {
  const [ada, grace] = [await addPerson(), await addPerson()];
  const { id } = await ada.client.workspaces.create.mutate({ name: "Team" });
  const own = await grace.client.workspaces.create.mutate({ name: "Own" });
  const scope = openAsOperator(decodeId("workspace", id) as WorkspaceId); // The API has just created it.
  await inWorkspace(app.services.db, scope, (trx) =>
    insertMember(trx, scope, { userId: grace.userId, role }),
  );
  return { ada, grace, id, ownId: own.id };
}

type Settings = Parameters<Person["client"]["apiKeys"]["create"]["mutate"]>[0]["settings"];

async function addKey({ client }: Person, name: string, settings: Settings = {}) {
  return await client.apiKeys.create.mutate({ name, settings });
}

async function statusOf(secret: string, path: string, method = "GET"): Promise<number> {
  const headers = { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" };
  const body = method === "PATCH" ? JSON.stringify({ description: "Changed" }) : null;
  const response = await fetch(`${app.baseUrl}/open/workspaces/${path}`, { method, headers, body });
  await response.arrayBuffer();
  return response.status;
}

test("the preview lists the keys that reach the workspace, and the permissions that they lose", async () => {
  const { ada, grace, id, ownId } = await addTeam("admin");
  const used = await addKey(grace, "Used");
  await addKey(grace, "Reads", { isReadOnly: true });
  await addKey(grace, "Elsewhere", { workspaceIds: [ownId] });
  expect(await statusOf(used.key, id)).toBe(200);
  const preview = (role?: Role) =>
    ada.client.offboarding.preview.query({ workspaceId: id, userId: grace.id, ...(role && { role }) });
  // Uses in a workspace are recorded about a second later.
  await expect
    .poll(async () => (await preview()).keys[0])
    .toMatchObject({ name: "Used", recentUses: 1, lastUsedAt: expect.any(String) });
  const removal = await preview();
  expect([removal.total, removal.replacementRole]).toEqual([2, "admin"]);
  const stopped = Object.fromEntries(removal.keys.map((key) => [key.name, key.stoppedPermissions]));
  expect(stopped.Used).toContain("workspace:update");
  expect(stopped.Reads).toEqual([
    ...["workspace:read", "members:read", "audit:read", "api-keys:read", "keyspaces:read", "keys:read"],
  ]);
  const demotion = await preview("member");
  expect(Object.fromEntries(demotion.keys.map((key) => [key.name, key.stoppedPermissions]))).toEqual({
    Used: [
      "workspace:update",
      "members:manage",
      "audit:read",
      "api-keys:read",
      "api-keys:manage",
      "keyspaces:manage",
      "keys:manage",
      "webhooks:manage",
    ],
    Reads: ["audit:read", "api-keys:read"],
  });
  expect((await preview("admin")).keys.map((key) => key.stoppedPermissions)).toEqual([[], []]);
});

test("of more than 50 keys, the preview lists keys that lose permissions before busier keys that don't", async () => {
  const { ada, grace, id: workspaceId } = await addTeam("admin");
  const { db, owner, quotas } = { ...app, ...app.services };
  // Of keys without uses, newer ones are first.
  await addKey(grace, "Reads audit log", { permissions: ["audit:read"], isReadOnly: true });
  await addKey(grace, "Manages", { permissions: ["members:manage"] });
  await db.transaction().execute(async (trx) => {
    const settings = { permissions: ["workspace:read"] };
    const key = { userId: grace.userId, name: "Reads", description: "", settings, origin: commandOrigin };
    for (let count = 1; count <= 50; count += 1) await createKey(trx, key, quotas);
  });
  const preview = async (role?: Role) => {
    const input = { workspaceId, userId: grace.id, ...(role && { role }) };
    const { keys, total } = await ada.client.offboarding.preview.query(input);
    const affected = keys.filter(({ stoppedPermissions }) => stoppedPermissions.length > 0);
    return { total, listed: keys.length, affected: affected.map(({ name }) => name) };
  };
  const of52 = { total: 52, listed: 50 };
  expect(await preview("viewer")).toEqual({ ...of52, affected: ["Manages", "Reads audit log"] });
  expect(await preview("member")).toEqual({ ...of52, affected: ["Manages", "Reads audit log"] });
  expect(await preview("owner")).toEqual({ ...of52, affected: [] });
  const setOthers = async (values: object) =>
    await owner
      .updateTable("api_keys")
      .set(values)
      .where("name", "=", "Reads")
      .where("user_id", "=", grace.userId)
      .execute();
  await setOthers({ disabled_at: new Date() });
  expect(await preview()).toEqual({ ...of52, affected: ["Manages", "Reads audit log"] });
  await setOthers({ disabled_at: null, expires_at: new Date(0) });
  expect((await preview()).affected).toEqual(["Manages", "Reads audit log"]);
  await app.disableUser(grace.userId);
  expect((await preview()).affected).toEqual(["Manages", "Reads audit log"]);
});

type Preview = Awaited<ReturnType<Person["client"]["offboarding"]["preview"]["query"]>>;

test("under /open, the preview lists the same, and a restricted key needs api-keys:read even for its owner", async () => {
  const { ada, grace, id } = await addTeam("member");
  const own = await addKey(grace, "Own");
  const restricted = await addKey(grace, "Restricted", { permissions: ["members:read"] });
  const admins = await addKey(ada, "Admin's", { permissions: ["members:read", "api-keys:read"] });
  const preview = async (secret: string, userId: string, query = "") => {
    const path = `workspaces/${id}/members/${userId}/affected-api-keys${query}`;
    const response = await fetch(`${app.baseUrl}/open/${path}`, {
      headers: { Authorization: `Bearer ${secret}` },
    });
    return { status: response.status, body: await response.json() };
  };
  // Uses in a workspace are recorded about a second later, so the two previews may differ in them.
  const stopped = ({ keys, total, replacementRole }: Preview) => ({
    ...{ total, replacementRole },
    keys: Object.fromEntries(keys.map(({ name, stoppedPermissions }) => [name, stoppedPermissions])),
  });
  const query = (role?: Role) =>
    ada.client.offboarding.preview.query({ workspaceId: id, userId: grace.id, ...(role && { role }) });
  for (const role of [undefined, "viewer"] as const) {
    const { status, body } = await preview(admins.key, grace.id, role ? `?role=${role}` : "");
    expect([status, stopped(body as Preview)]).toEqual([200, stopped(await query(role))]);
  }
  expect(await preview(own.key, grace.id)).toMatchObject({ status: 200, body: { total: 2 } });
  expect(await preview(own.key, ada.id)).toMatchObject({
    status: 403,
    body: { error: { code: "FORBIDDEN" } },
  });
  expect(await preview(restricted.key, grace.id)).toMatchObject({ status: 403 });
  expect(await preview(admins.key, grace.id, "?role=nobody")).toMatchObject({ status: 400 });
});

test("a replacement has the same restrictions, works before and after the removal, and isn't a copy", async () => {
  const { ada, grace, id } = await addTeam("admin");
  const limit = { quota: 50, windowSeconds: 60 };
  const restrictions = { permissions: ["workspace:read" as const, "workspace:update" as const], limit };
  const former = await addKey(grace, "Pipeline", { ...restrictions, workspaceIds: [id] });
  const input = { workspaceId: id, userId: grace.id, keyIds: [former.id], name: "Deploys" };
  const { serviceAccount, keys } = await ada.client.offboarding.replaceKeys.mutate(input);
  expect(serviceAccount).toMatchObject({ name: "Deploys", role: "admin" });
  expect(keys).toEqual([
    { id: expect.any(String), name: "Pipeline", key: expect.stringMatching(/^lk_/), replacedId: former.id },
  ]);
  const [{ id: keyId, key: secret } = { id: "", key: "" }] = keys;
  expect(secret).not.toBe(former.key);
  expect(await ada.client.apiKeys.get.query({ id: keyId })).toMatchObject({
    ...restrictions,
    workspaceIds: [id],
    description: expect.stringMatching(/^Replaces .+’s key lk_.+…$/),
  });
  for (const key of [former.key, secret]) expect(await statusOf(key, id, "PATCH")).toBe(200);
  await ada.client.members.remove.mutate({ workspaceId: id, userId: grace.id });
  expect(await statusOf(former.key, id, "PATCH")).toBe(403);
  expect(await statusOf(secret, id, "PATCH")).toBe(200);
  expect(await statusOf(secret, `${id}/audit-events`)).toBe(403);
});

test("a replacement waits for a concurrent demotion, and gets the new role", async () => {
  const { ada, grace, id } = await addTeam("admin");
  const former = await addKey(grace, "Pipeline");
  const edit = { scope: openAsOperator(decodeId("workspace", id) as WorkspaceId), origin: commandOrigin };
  const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
  const { promise: isDemoted, resolve: demoted } = Promise.withResolvers<void>();
  const demotion = app.services.db.transaction().execute(async (trx) => {
    const change = { userId: grace.userId, role: "viewer", versions: undefined } as const;
    await changeMemberRole(trx, edit, change, app.services.quotas);
    demoted();
    await isReleased;
  });
  await isDemoted;
  const input = { workspaceId: id, userId: grace.id, keyIds: [former.id], name: "Deploys" };
  const replacement = ada.client.offboarding.replaceKeys.mutate(input);
  await expect.poll(() => countWaiting(app.owner)).toBe(1);
  release();
  await demotion;
  expect((await replacement).serviceAccount.role).toBe("viewer");
});

test("a replacement of an owner is an admin, and changes nothing if one key can't be replaced", async () => {
  const { ada, grace, id, ownId } = await addTeam("owner");
  const [one, elsewhere] = [
    await addKey(grace, "One"),
    await addKey(grace, "Two", { workspaceIds: [ownId] }),
  ];
  const replace = (keyIds: string[]) =>
    ada.client.offboarding.replaceKeys.mutate({
      workspaceId: id,
      userId: grace.id,
      keyIds,
      name: "Deploys",
    });
  await expect(replace([one.id, elsewhere.id])).rejects.toMatchObject({ data: { code: "NOT_FOUND" } });
  const list = () => ada.client.members.list.query({ workspaceId: id, kind: "service_account" });
  expect((await list()).total).toBe(0);
  expect((await replace([one.id])).serviceAccount.role).toBe("admin");
  expect((await list()).total).toBe(1);
});

test("keys that the workspace doesn't accept lose nothing, and aren't replaced by keys that it would accept", async () => {
  const { ada, grace, id: workspaceId } = await addTeam("admin");
  const names = ["Works", "Disabled", "Expired", "Blocked", "Without IP ranges"] as const;
  const ipRanges = ["127.0.0.1/32"];
  const ids: Record<string, string> = {};
  for (const name of names)
    ids[name] = (await addKey(grace, name, name === "Without IP ranges" ? {} : { ipRanges })).id;
  const set = async (name: string, values: object) =>
    await app.owner.updateTable("api_keys").set(values).where("name", "=", name).execute();
  await set("Disabled", { disabled_at: new Date() });
  await set("Expired", { expires_at: new Date(0) });
  await ada.client.workspaceKeys.block.mutate({ workspaceId, keyIds: [ids.Blocked ?? ""] });
  const { version } = await ada.client.workspaceKeys.policy.query({ workspaceId });
  await ada.client.workspaceKeys.changePolicy.mutate({ workspaceId, areIpRangesRequired: true, version });
  const preview = { workspaceId, userId: grace.id };
  const { keys, total } = await ada.client.offboarding.preview.query(preview);
  expect(total).toBe(names.length);
  const affected = keys.filter(({ stoppedPermissions }) => stoppedPermissions.length > 0);
  expect(affected.map(({ name }) => name)).toEqual(["Works"]);
  const replace = (keyIds: readonly (string | undefined)[]) =>
    ada.client.offboarding.replaceKeys.mutate({
      ...preview,
      keyIds: keyIds.map((id) => id ?? ""),
      name: "Deploys",
    });
  for (const name of names.slice(1)) {
    await expect(replace([ids.Works, ids[name]])).rejects.toMatchObject({
      message: expect.stringContaining(`The key “${name}” can't be replaced.`),
      data: { code: "BAD_REQUEST" },
    });
  }
  expect((await replace([ids.Works])).keys).toHaveLength(1);
});
