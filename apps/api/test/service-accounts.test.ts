// Service accounts: what they can do, who manages them, and what happens when they are deleted.
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { decodeId, encodeId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { insertMember } from "@latchkey/db/members";
import type { Db } from "@latchkey/db/schema";
import { enterWorkspace, inWorkspace } from "@latchkey/db/workspace-scope";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { getAccount } from "../src/domain/accounts.ts";
import { addMember } from "../src/domain/members.ts";
import { deleteServiceAccount } from "../src/domain/service-accounts.ts";
import { countStatements } from "./count-statements.ts";
import { createOpenClient } from "./open-client.ts";
import { addPerson, addTeam, join, type Person, type Team } from "./team.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ quotas: { serviceAccountsPerWorkspace: 3 } });
});
afterAll(() => app.close());

const { send } = createOpenClient(() => app);

/** A service account with a key, both created in the web app. */
async function addServiceAccount(
  { id, owner }: Team,
  role: "admin" | "member" | "viewer" = "member",
): Promise<{
  readonly userId: string;
  readonly secret: string;
  readonly keyId: string;
  readonly name: string;
}> {
  const name = "Deploys";
  const { userId } = await owner.client.serviceAccounts.create.mutate({ workspaceId: id, name, role });
  const key = { workspaceId: id, userId, name: "Pipeline" };
  const { id: keyId, key: secret } = await owner.client.serviceAccounts.createKey.mutate(key);
  return { userId, secret, keyId, name };
}

const failsWith = (code: string) => ({ data: { code } });
/** The audit log of a workspace, newest first. */
const readEvents = async ({ id, owner }: Team) =>
  (await owner.client.audit.list.query({ workspaceId: id })).items;

test("a key of a service account acts with its role in its workspace, and nowhere else", async () => {
  const team = await addTeam(app);
  const { userId, secret, keyId } = await addServiceAccount(team);
  const { body: me } = await send(secret, ["GET", "/me"]);
  expect(me).toMatchObject({
    key: { id: keyId },
    user: { id: userId, name: "Deploys", kind: "service_account", email: null },
    workspaces: [{ id: team.id, role: "member" }],
  });
  expect((await send(secret, ["GET", team.path])).status).toBe(200);
  expect((await send(secret, ["PATCH", team.path], { name: "Changed" })).status).toBe(403);
  expect((await send(secret, ["POST", "/workspaces"], { name: "Own" })).status).toBe(403);
  expect((await send(secret, ["GET", (await addTeam(app)).path])).status).toBe(403);
  const { body: keys } = await send(secret, ["GET", "/api-keys"]);
  expect(keys.data).toMatchObject([{ id: keyId }]);
});

test("the list of members and the audit log distinguish service accounts from people", async () => {
  const team = await addTeam(app);
  const { userId, secret } = await addServiceAccount(team, "admin");
  const { body: members } = await send(team.owner.secret, ["GET", `${team.path}/members`]);
  expect(members.data).toMatchObject([
    { kind: "person", email: expect.any(String) },
    { userId, kind: "service_account", email: null, role: "admin" },
  ]);
  await send(secret, ["PATCH", team.path], { name: "Changed" });
  expect(await readEvents(team)).toMatchObject([
    {
      action: "workspace.renamed",
      actor: { userId, userKind: "service_account" },
      target: { userKind: null },
    },
    { action: "key.created", actor: { userKind: "person" } },
    {
      action: "service-account.created",
      target: { id: userId, userKind: "service_account" },
      after: { name: "Deploys", role: "admin" },
    },
    { action: "workspace.created" },
  ]);
  const { items } = await team.owner.client.workspaceKeys.list.query({ workspaceId: team.id });
  expect(items).toMatchObject([{ owner: { id: userId, kind: "service_account", email: null } }, {}]);
});

test("the open API creates, lists, changes and deletes service accounts", async () => {
  const team = await addTeam(app);
  const path = `${team.path}/service-accounts`;
  const { secret } = team.owner;
  const created = await send(secret, ["POST", path], { name: "Backups", role: "viewer" });
  expect(created).toMatchObject({
    status: 201,
    body: { name: "Backups", role: "viewer", isDisabled: false, version: 1 },
  });
  const one = `${path}/${String(created.body.userId)}`;
  const changed = await send(secret, ["PATCH", one], { name: "Archive", role: "admin", isDisabled: true });
  expect(changed.body).toMatchObject({ name: "Archive", role: "admin", isDisabled: true, version: 2 });
  const unchanged = await send(secret, ["PATCH", one], { name: "Archive", isDisabled: true });
  expect([unchanged.status, unchanged.body]).toEqual([200, changed.body]);
  expect(await send(secret, ["GET", one])).toMatchObject({ etag: changed.etag, body: changed.body });
  const stale = { "If-Match": created.etag };
  expect((await send(secret, ["PATCH", one], { name: "Stale" }, stale)).status).toBe(412);
  expect((await send(secret, ["DELETE", one], undefined, stale)).status).toBe(412);
  expect((await send(secret, ["GET", `${path}?sort=-createdAt`])).body.data).toEqual([changed.body]);
  expect((await send(secret, ["PATCH", one], {})).status).toBe(400);
  expect((await send(secret, ["PATCH", one], { role: "owner" })).status).toBe(400);
  expect((await send(secret, ["DELETE", one])).status).toBe(204);
  expect((await send(secret, ["DELETE", one])).status).toBe(404);
  expect((await readEvents(team)).map(({ action }) => action)).toEqual([
    "service-account.deleted",
    "service-account.disabled",
    "member.role-changed",
    "service-account.renamed",
    "service-account.created",
    "workspace.created",
  ]);
});

test("a quota limits the service accounts of a workspace, which don't count as people", async () => {
  const team = await addTeam(app);
  const path = `${team.path}/service-accounts`;
  const create = () => send(team.owner.secret, ["POST", path], { name: "Another", role: "viewer" });
  const statuses = (await Promise.all(Array.from({ length: 6 }, create))).map(({ status }) => status);
  expect(statuses.sort()).toEqual([201, 201, 201, 422, 422, 422]);
  expect((await create()).body).toMatchObject({ error: { issues: [{ code: "quota_exceeded" }] } });
});

test("a role and a status apply to the next request", async () => {
  const team = await addTeam(app);
  const { userId, secret } = await addServiceAccount(team, "viewer");
  const rename = async () =>
    (await send(secret, ["PATCH", team.path], { description: crypto.randomUUID() })).status;
  const change = (changes: object) =>
    team.owner.client.serviceAccounts.change.mutate({ workspaceId: team.id, userId, ...changes });
  expect(await rename()).toBe(403);
  await change({ role: "admin" });
  expect(await rename()).toBe(200);
  await change({ isDisabled: true });
  expect(await rename()).toBe(403);
  await change({ isDisabled: false });
  expect(await rename()).toBe(200);
  const { client } = team.owner;
  const { version } = await client.serviceAccounts.get.query({ workspaceId: team.id, userId });
  await client.members.changeRole.mutate({ workspaceId: team.id, userId, role: "viewer", version });
  expect(await rename()).toBe(403);
});

test("all service accounts of the workspaces of an owner share an hourly quota of invitations", async () => {
  const limited = await startTestApp({ quotas: { invitationsPerHour: 3 } });
  try {
    const client = createOpenClient(() => limited);
    const invite = async (secret: string, { path }: Team) => {
      const person = { email: `${crypto.randomUUID()}@example.com`, role: "viewer" };
      return await client.send(secret, ["POST", `${path}/invitations`], person);
    };
    const coOwner = await addPerson(limited); // Has an older account than the owner.
    const team = await addTeam(limited);
    const { id } = await team.owner.client.workspaces.create.mutate({ name: "Second" });
    const scope = openAsOperator(decodeId("workspace", id) as WorkspaceId); // The API has just created it.
    const second = { ...team, id, scope, path: `/workspaces/${id}` };
    await inWorkspace(limited.services.db, scope, (trx) =>
      insertMember(trx, scope, { userId: coOwner.userId, role: "owner" }),
    );
    const one = await addServiceAccount(team);
    expect((await invite(one.secret, team)).status).toBe(201);
    await team.owner.client.serviceAccounts.delete.mutate({ workspaceId: team.id, userId: one.userId });
    expect((await invite((await addServiceAccount(team)).secret, team)).status).toBe(201);
    const other = await addServiceAccount(second);
    expect((await invite(other.secret, second)).status).toBe(201);
    for (const [account, workspace] of [
      [other, second],
      [await addServiceAccount(second), second],
      [await addServiceAccount(team), team],
    ] as const)
      expect(await invite(account.secret, workspace)).toMatchObject({
        status: 429,
        retryAfter: expect.stringMatching(/^\d+$/),
        body: {
          error: {
            message: expect.stringMatching(
              /^The service accounts .* have reached the limit of 3 invitations per hour\./,
            ),
          },
        },
      });
    // The owner has a quota of their own, and so have the service accounts of another owner.
    expect((await invite(team.owner.secret, team)).status).toBe(201);
    const foreign = await addTeam(limited);
    expect((await invite((await addServiceAccount(foreign)).secret, foreign)).status).toBe(201);
  } finally {
    await limited.close();
  }
});

test("a deleted service account loses its keys and its invitations, and its events stay readable", async () => {
  const team = await addTeam(app);
  const { userId, secret, keyId } = await addServiceAccount(team, "admin");
  const invited = await send(secret, ["POST", `${team.path}/invitations`], {
    email: `${crypto.randomUUID()}@example.com`,
    role: "viewer",
  });
  expect(invited.status).toBe(201);
  expect((await send(secret, ["GET", team.path])).status).toBe(200);
  await team.owner.client.members.remove.mutate({ workspaceId: team.id, userId });
  expect((await send(secret, ["GET", team.path])).status).toBe(403);
  expect((await send(secret, ["GET", "/me"])).status).toBe(403);
  const invitations = await team.owner.client.invitations.list.query({ workspaceId: team.id });
  expect(invitations.items).toEqual([]);
  const ofAccount = (await readEvents(team)).filter(({ action }) => action !== "workspace.created");
  expect(ofAccount).toMatchObject([
    {
      action: "service-account.deleted",
      target: { id: userId, name: "Deploys", userKind: "service_account" },
      before: { name: "Deploys", role: "admin", keys: 1 },
    },
    {
      action: "key.deleted",
      target: { id: keyId, owner: { id: userId } },
      actor: { userId: encodeId("user", team.owner.userId) },
      before: { name: "Pipeline" },
    },
    { action: "invitation.revoked", target: { id: invited.body.id } },
    { action: "invitation.created", actor: { name: "Deploys", userKind: "service_account", keyId } },
    { action: "key.created" },
    { action: "service-account.created", target: { name: "Deploys" } },
  ]);
  const { rows } = await sql<{ name: string }>`
    select before ->> 'name' as name from security_events
    where user_id = ${decodeId("user", userId)} and action = 'key.deleted'`.execute(app.owner);
  expect(rows.map(({ name }) => name)).toEqual(["Pipeline"]);
});

test("the command deletes a service account and its keys with the same number of statements for any number of keys", async () => {
  const written: number[] = [];
  for (const count of [2, 5]) {
    const team = await addTeam(app);
    const { userId } = await addServiceAccount(team);
    const id = decodeId("user", userId) as UserId; // The API has just created it.
    for (let made = 1; made < count; made += 1) await app.addKey(id);
    const edit = { scope: team.scope, origin: commandOrigin };
    const remove = (db: Db) =>
      db.transaction().execute((trx) => deleteServiceAccount(trx, edit, { userId: id }));
    written.push(await countStatements(app.services.db, remove));
  }
  expect(written[1]).toBe(written[0]);
});

test("deleting a workspace deletes its service accounts completely", async () => {
  const team = await addTeam(app);
  const { userId, secret, keyId } = await addServiceAccount(team);
  const deleted = await addServiceAccount(team);
  await team.owner.client.serviceAccounts.delete.mutate({ workspaceId: team.id, userId: deleted.userId });
  expect((await send(secret, ["GET", team.path])).status).toBe(200);
  await team.owner.client.workspaces.delete.mutate({ workspaceId: team.id });
  expect((await send(secret, ["GET", "/me"])).status).toBe(403);
  const ids = [userId, deleted.userId].map((id) => decodeId("user", id) as UserId); // The API made them.
  for (const [table, column] of [
    ["users", "id"],
    ["api_keys", "user_id"],
    ["security_events", "user_id"],
  ] as const) {
    const rows = await app.owner.selectFrom(table).select(column).where(column, "in", ids).execute();
    expect(rows, table).toEqual([]);
  }
  const counter = decodeId("key", keyId);
  expect(
    await app.owner
      .selectFrom("key_counters")
      .select("key_id")
      .where("key_id", "=", counter ?? null)
      .execute(),
  ).toEqual([]);
});

test("admins manage the keys of service accounts, and nobody gets more permissions than their own", async () => {
  const team = await addTeam(app);
  const admin = await join(app, team, "admin");
  const member = await join(app, team, "member");
  const stranger = await addPerson(app);
  const { userId, keyId, secret } = await addServiceAccount(team, "admin");
  for (const { client } of [member, stranger]) {
    await expect(client.apiKeys.get.query({ id: keyId })).rejects.toMatchObject(failsWith("NOT_FOUND"));
    await expect(client.apiKeys.delete.mutate({ id: keyId })).rejects.toMatchObject(failsWith("NOT_FOUND"));
    await expect(
      client.serviceAccounts.createKey.mutate({ workspaceId: team.id, userId, name: "Mine" }),
    ).rejects.toMatchObject(failsWith("FORBIDDEN"));
  }
  const { key: rotated } = await admin.client.apiKeys.rotate.mutate({ id: keyId, overlapSeconds: 0 });
  expect((await send(secret, ["GET", team.path])).status).toBe(403);
  expect((await send(rotated, ["GET", team.path])).status).toBe(200);
  const restricted = { id: keyId, settings: { permissions: ["workspace:read" as const] } };
  expect(await admin.client.apiKeys.update.mutate(restricted)).toMatchObject({
    permissions: ["workspace:read"],
    serviceAccount: { userId, name: "Deploys", workspaceId: team.id },
  });
  await expect(
    admin.client.apiKeys.update.mutate({ id: keyId, settings: { permissions: null } }),
  ).rejects.toMatchObject({ data: { code: "UNPROCESSABLE_CONTENT" } });
  // A key restricted to permissions can grant only roles that have no others.
  expect((await send(rotated, ["DELETE", `${team.path}/service-accounts/${userId}`])).status).toBe(403);
  await admin.client.apiKeys.delete.mutate({ id: keyId });
  expect((await send(rotated, ["GET", team.path])).status).toBe(403);
});

test("a key that can't grant the role of a service account can't change or delete it", async () => {
  const ofMembers = ["members:read", "workspace:read", "keyspaces:read", "keys:read", "keys:verify"] as const;
  const team = await addTeam(app);
  const { userId } = await addServiceAccount(team, "admin");
  const { client, secret } = team.owner;
  const [key] = (await client.apiKeys.list.query({})).items;
  await client.apiKeys.update.mutate({
    id: key?.id ?? "",
    settings: { permissions: ["members:manage", ...ofMembers] },
  });
  const path = `${team.path}/service-accounts`;
  expect((await send(secret, ["POST", path], { name: "Admin", role: "admin" })).status).toBe(403);
  expect((await send(secret, ["PATCH", `${path}/${userId}`], { name: "Changed" })).status).toBe(403);
  expect((await send(secret, ["DELETE", `${path}/${userId}`])).status).toBe(403);
  expect((await send(secret, ["POST", path], { name: "Member", role: "member" })).status).toBe(201);
});

test("secrets of service accounts require recent authentication", async () => {
  const team = await addTeam(app);
  const { userId, keyId } = await addServiceAccount(team);
  const { client } = team.owner;
  await app.owner
    .updateTable("sessions")
    .set({ authenticated_at: new Date(0) })
    .where("user_id", "=", team.owner.userId)
    .execute();
  const workspaceId = team.id;
  for (const attempt of [
    () => client.serviceAccounts.create.mutate({ workspaceId, name: "Admin", role: "admin" }),
    () => client.serviceAccounts.change.mutate({ workspaceId, userId, role: "admin" }),
    () => client.serviceAccounts.createKey.mutate({ workspaceId, userId, name: "Another" }),
    () => client.apiKeys.rotate.mutate({ id: keyId, overlapSeconds: 0 }),
  ]) {
    await expect(attempt()).rejects.toMatchObject({
      data: { code: "FORBIDDEN", issues: [{ code: "reauthentication_required" }] },
    });
  }
  await client.serviceAccounts.change.mutate({ workspaceId, userId, isDisabled: true });
  await expect(
    client.serviceAccounts.change.mutate({ workspaceId, userId, isDisabled: false }),
  ).rejects.toMatchObject(failsWith("FORBIDDEN"));
});

test("a service account can't own a workspace, join another one, or leave by itself", async () => {
  const team = await addTeam(app);
  const other = await addTeam(app);
  const { userId, secret } = await addServiceAccount(team);
  const { client } = team.owner;
  await expect(
    client.members.changeRole.mutate({ workspaceId: team.id, userId, role: "owner", version: 1 }),
  ).rejects.toMatchObject(failsWith("CONFLICT"));
  expect((await send(secret, ["DELETE", `${team.path}/members/${userId}`])).status).toBe(403);
  const admin = await addServiceAccount(team, "admin");
  for (const list of ["members", "service-accounts"]) {
    const path = `${team.path}/${list}/${admin.userId}`;
    expect(await send(admin.secret, ["DELETE", path]), list).toMatchObject({
      status: 403,
      body: { error: { code: "FORBIDDEN", message: expect.stringContaining("can’t delete itself") } },
    });
  }
  const id = decodeId("user", userId) as UserId; // The API made it.
  const edit = { scope: other.scope, origin: commandOrigin };
  const { db, quotas } = app.services;
  const violates = { code: "23514", message: expect.stringContaining("one workspace") };
  await expect(
    db.transaction().execute((trx) => addMember(trx, edit, { userId: id, role: "viewer" }, quotas)),
  ).rejects.toMatchObject(violates);
  await expect(
    db.transaction().execute(async (trx) => {
      const own = await enterWorkspace(trx, team.scope);
      await own.updateTable("members").set({ role: "owner" }).where("user_id", "=", id).execute();
    }),
  ).rejects.toMatchObject(violates);
  // It can delete another one.
  expect((await send(admin.secret, ["DELETE", `${team.path}/members/${userId}`])).status).toBe(204);
});

test("a service account isn't an account that can sign in", async () => {
  const team = await addTeam(app);
  const { userId, name } = await addServiceAccount(team);
  const id = decodeId("user", userId) as UserId; // The API made it.
  const { email } = await app.owner
    .selectFrom("users")
    .select("email")
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  const { client } = openClient(app.baseUrl);
  await expect(client.session.signIn.mutate({ email, password })).rejects.toMatchObject(
    failsWith("UNAUTHORIZED"),
  );
  await expect(getAccount(app.services.db, { email })).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(getAccount(app.services.db, { id })).rejects.toMatchObject({
    code: "NOT_FOUND",
    message: `${encodeId("user", id)} is a service account, not a person.`,
  });
  // No search finds the placeholder, and no list shows it.
  const list = (search: string) => client2.members.list.query({ workspaceId: team.id, search });
  const { client: client2 } = team.owner;
  expect((await list(email)).total).toBe(0);
  expect((await list(name)).items).toMatchObject([{ userId, email: null }]);
  expect(JSON.stringify(await list(""))).not.toContain("service-account.invalid");
});

test("an owner whose workspace has only service accounts besides them can be disabled", async () => {
  const team = await addTeam(app);
  const { secret } = await addServiceAccount(team);
  await app.disableUser(team.owner.userId);
  // The integration keeps working.
  expect((await send(secret, ["GET", team.path])).status).toBe(200);
});

test("rejected requests are explained in terms of the service account", async () => {
  const team = await addTeam(app);
  const { userId, secret, keyId } = await addServiceAccount(team, "viewer");
  const { client } = team.owner;
  const evaluate = async (method: "GET" | "PATCH", path: string) =>
    (await client.keyHistory.evaluate.mutate({ id: keyId, method, path })).explanation;
  expect(await evaluate("PATCH", `/open${team.path}`)).toBe(
    "The role of the service account did not have the required permission.",
  );
  expect(await evaluate("GET", "/open/workspaces/ws_01h455vb4pex5vsknk084sn02q")).toMatch(
    /^The service account belongs to another workspace/,
  );
  await client.apiKeys.update.mutate({ id: keyId, settings: { permissions: ["members:read"] }, version: 1 });
  expect(await evaluate("GET", `/open${team.path}`)).toMatch(
    /^The role of the service account had the required/,
  );
  await client.serviceAccounts.change.mutate({ workspaceId: team.id, userId, isDisabled: true, version: 1 });
  expect(await send(secret, ["GET", "/me"])).toMatchObject({ status: 403 });
  const explanation = "The service account was disabled, so all of its keys were rejected.";
  expect(await evaluate("GET", "/open/me")).toBe(explanation);
  await expect
    .poll(() => client.keyHistory.refusals.query({ id: keyId }))
    .toMatchObject([{ reason: "user-disabled", explanation }]);
  const { name } = await client.serviceAccounts.get.query({ workspaceId: team.id, userId });
  const serviceAccount = { userId, name, workspaceId: team.id };
  // Those who may see the key also find the explanation by the request ID.
  const requestId = crypto.randomUUID();
  await send(secret, ["GET", "/me"], undefined, { "X-Request-Id": requestId });
  const find = (reader: Person) => reader.client.keyHistory.explainRequest.query({ requestId });
  await expect
    .poll(() => find(team.owner))
    .toMatchObject([
      { reason: "user-disabled", explanation, key: { id: keyId, name: "Pipeline", serviceAccount } },
    ]);
  expect(await find(await join(app, team, "admin"))).toHaveLength(1);
  expect(await find(await join(app, team, "member"))).toEqual([]);
  expect(await find((await addTeam(app)).owner)).toEqual([]);
  for (const [changes, count] of [
    [{ requires_second_factor: true }, 0],
    [{ requires_second_factor: false, disabled_at: new Date() }, 0],
    [{ disabled_at: null }, 1],
  ] as const) {
    const { workspaceId } = team.scope;
    await app.owner.updateTable("workspaces").set(changes).where("id", "=", workspaceId).execute();
    expect(await find(team.owner)).toHaveLength(count);
  }
  for (const text of await Promise.all([evaluate("GET", "/open/me"), evaluate("PATCH", `/open${team.path}`)]))
    expect(text).not.toMatch(/\byour?\b/i);
});
