// A workspace that requires a second factor from its members, in the web app and with their API keys.
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { decodeId, encodeId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import type { Role } from "@latchkey/db/role";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { sql } from "kysely";
import { TOTP } from "otpauth";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { addMember } from "../src/domain/members.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { resetSecondFactors } from "../src/domain/second-factors.ts";
import { holdLocks } from "./table-locks.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

type Opened = ReturnType<typeof openClient>;

async function addPerson() {
  const { userId, email } = await app.addUser();
  const opened = openClient(app.baseUrl);
  await opened.client.session.signIn.mutate({ email, password });
  return { userId, email, ...opened };
}

async function setUpTotp({ client }: Pick<Opened, "client">): Promise<string> {
  const { secret } = await client.factors.createTotp.mutate();
  await client.factors.enableTotp.mutate({ code: new TOTP({ secret }).generate() });
  return secret;
}

/** A workspace of an owner with a second factor, with an admin and a member who have none. */
async function addTeam() {
  const [owner, admin, member] = [await addPerson(), await addPerson(), await addPerson()];
  await setUpTotp(owner);
  const workspace = await owner.client.workspaces.create.mutate({ name: "Team" });
  const id = decodeId("workspace", workspace.id) as WorkspaceId;
  const edit = { scope: openAsOperator(id), origin: commandOrigin };
  const join = (userId: UserId, role: Role) =>
    app.services.db.transaction().execute((trx) => addMember(trx, edit, { userId, role }, defaultQuotas));
  await join(admin.userId, "admin");
  await join(member.userId, "member");
  return { owner, admin, member, workspaceId: workspace.id };
}

const requireFactor = (
  { client }: Pick<Opened, "client">,
  workspaceId: string,
  { requiresSecondFactor = true, version = 1 } = {},
) => client.workspaces.update.mutate({ workspaceId, requiresSecondFactor, version });

/** The status of a request with a key. */
async function readWith(secret: string, path: string): Promise<number> {
  const headers = { Authorization: `Bearer ${secret}` };
  const response = await fetch(`${app.baseUrl}/open${path}`, { headers });
  await response.arrayBuffer();
  return response.status;
}

const blocked = { data: { code: "FORBIDDEN", issues: [{ code: "second_factor_required" }] } };

test("applies to members without a second factor on the next request, until they set one up", async () => {
  const { owner, member, workspaceId } = await addTeam();
  const own = await member.client.workspaces.create.mutate({ name: "Own" });
  const key = await app.addKey(member.userId);
  expect((await member.client.workspaces.get.query({ workspaceId })).requiresSecondFactor).toBe(false);
  expect((await requireFactor(owner, workspaceId)).requiresSecondFactor).toBe(true);
  await expect(member.client.workspaces.get.query({ workspaceId })).rejects.toMatchObject(blocked);
  await expect(member.client.members.list.query({ workspaceId })).rejects.toMatchObject(blocked);
  await expect(
    member.client.members.remove.mutate({
      workspaceId,
      userId: (await member.client.session.current.query())?.user.id ?? "",
    }),
  ).rejects.toMatchObject(blocked);
  expect(await readWith(key.secret, `/workspaces/${workspaceId}`)).toBe(403);
  // Everything else keeps working: other workspaces and the account, also with API keys.
  expect((await member.client.workspaces.get.query({ workspaceId: own.id })).name).toBe("Own");
  await member.client.account.rename.mutate({ name: "Grace" });
  expect(await readWith(key.secret, `/workspaces/${own.id}`)).toBe(200);
  expect(await readWith(key.secret, "/me")).toBe(200);
  await setUpTotp(member);
  expect(await readWith(key.secret, `/workspaces/${workspaceId}`)).toBe(200);
  expect((await member.client.workspaces.get.query({ workspaceId })).name).toBe("Team");
  // Removing the last factor ends the access again.
  await member.client.factors.disableTotp.mutate();
  await expect(member.client.workspaces.get.query({ workspaceId })).rejects.toMatchObject(blocked);
  expect(await readWith(key.secret, `/workspaces/${workspaceId}`)).toBe(403);
  await requireFactor(owner, workspaceId, { requiresSecondFactor: false, version: 2 });
  expect((await member.client.workspaces.get.query({ workspaceId })).name).toBe("Team");
  expect(await readWith(key.secret, `/workspaces/${workspaceId}`)).toBe(200);
});

test("the owner of a key, and admins, see that it doesn't reach the workspace, and why", async () => {
  const { owner, member, workspaceId } = await addTeam();
  const key = await app.addKey(member.userId);
  const id = encodeId("key", key.id);
  const violation = "second-factor-required";
  await requireFactor(owner, workspaceId);
  expect(await readWith(key.secret, `/workspaces/${workspaceId}`)).toBe(403);

  const { client } = member;
  expect(await client.apiKeys.rejectingWorkspaces.query({ id })).toMatchObject([
    { workspace: { id: workspaceId }, isBlocked: false, violation },
  ]);
  const settings = { expiresAt: null, workspaceIds: null, ipRanges: null };
  expect(await client.apiKeys.checkPolicies.query({ settings })).toMatchObject([
    { workspace: { id: workspaceId }, violation },
  ]);
  const tried = await client.keyHistory.tryOut.mutate({
    key: key.secret,
    method: "GET",
    path: `/open/workspaces/${workspaceId}`,
  });
  expect(tried).toMatchObject({ explanation: expect.stringContaining("second factor") });
  // As for a policy, a key doesn't list the workspaces that reject it.
  const listed = await fetch(`${app.baseUrl}/open/workspaces`, {
    headers: { Authorization: `Bearer ${key.secret}` },
  });
  expect(await listed.text()).not.toContain(workspaceId);

  const { items } = await owner.client.workspaceKeys.list.query({ workspaceId, status: "policy" });
  expect(items).toMatchObject([{ id, violation }]);
});

test("a preview names the API keys that would stop working, and changes nothing", async () => {
  const { owner, admin, member, workspaceId } = await addTeam();
  const [used, unused, own] = [
    await app.addKey(member.userId),
    await app.addKey(admin.userId),
    await app.addKey(owner.userId),
  ];
  const robot = await owner.client.serviceAccounts.create.mutate({
    workspaceId,
    name: "Robot",
    role: "viewer",
  });
  await owner.client.serviceAccounts.createKey.mutate({ workspaceId, userId: robot.userId, name: "Deploys" });
  await readWith(used.secret, `/workspaces/${workspaceId}`);
  const input = { workspaceId, requiresSecondFactor: true };
  const { keys, total, isComplete } = await owner.client.workspaceKeys.previewPolicy.query(input);
  expect(keys.map(({ id }) => id).toSorted()).toEqual(
    [used, unused].map(({ id }) => encodeId("key", id)).toSorted(),
  );
  expect({ total, isComplete, violations: new Set(keys.map((key) => key.violation)) }).toEqual({
    total: 2,
    isComplete: true,
    violations: new Set(["second-factor-required"]),
  });
  const path = `/workspaces/${workspaceId}/api-key-policy/preview?requiresSecondFactor=true`;
  const response = await fetch(`${app.baseUrl}/open${path}`, {
    headers: { Authorization: `Bearer ${own.secret}` },
  });
  expect(await response.json()).toMatchObject({ total: 2 });
  expect(await readWith(unused.secret, `/workspaces/${workspaceId}`)).toBe(200);
  // Without the parameter, the requirement stays as it is.
  expect(await owner.client.workspaceKeys.previewPolicy.query({ workspaceId })).toMatchObject({ total: 0 });
  await requireFactor(owner, workspaceId);
  expect(await owner.client.workspaceKeys.previewPolicy.query(input)).toMatchObject({ total: 0 });
});

test("a change with a key waits for the requirement, and is rejected", async () => {
  const { owner, admin, workspaceId } = await addTeam();
  const key = await app.addKey(admin.userId);
  // Admission allows the request, which then waits for the workspace.
  const commit = await holdLocks(
    app.database,
    `update workspaces set requires_second_factor = true where id = $1`,
    [decodeId("workspace", workspaceId)],
  );
  const renamed = fetch(`${app.baseUrl}/open/workspaces/${workspaceId}`, {
    method: "PATCH",
    headers: { Authorization: `Bearer ${key.secret}`, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "Mallory" }),
  });
  await expect.poll(() => countWaiting(app.owner)).toBe(1);
  await commit();
  expect((await renamed).status).toBe(403);
  expect((await owner.client.workspaces.get.query({ workspaceId })).name).toBe("Team");
});

test("a change in the web app waits for the requirement, and is rejected, except for leaving", async () => {
  const { owner, admin, workspaceId } = await addTeam();
  const { client } = admin;
  const change = "update workspaces set requires_second_factor = true where id = $1";
  const commit = await holdLocks(app.database, change, [decodeId("workspace", workspaceId)]);
  const renamed = expect(
    client.workspaces.update.mutate({ workspaceId, name: "Mallory", version: 1 }),
  ).rejects.toMatchObject(blocked);
  await expect.poll(() => countWaiting(app.owner)).toBe(1);
  const left = client.members.leave.mutate({ workspaceId });
  await expect.poll(() => countWaiting(app.owner)).toBe(2);
  await commit();
  await renamed;
  await left;
  expect((await owner.client.workspaces.get.query({ workspaceId })).name).toBe("Team");
  expect((await owner.client.members.list.query({ workspaceId })).total).toBe(2);
});

test("a member without a second factor can leave, and do nothing else in the workspace", async () => {
  const { owner, admin, member, workspaceId } = await addTeam();
  await requireFactor(owner, workspaceId);
  const { client } = admin;
  const memberId = encodeId("user", member.userId);
  for (const attempt of [
    () => client.members.remove.mutate({ workspaceId, userId: memberId }),
    () => client.members.changeRole.mutate({ workspaceId, userId: memberId, role: "viewer", version: 1 }),
    () => client.invitations.create.mutate({ workspaceId, email: "new@example.com", role: "viewer" }),
    () => client.ownership.end.mutate({ workspaceId }),
    () => client.workspaces.update.mutate({ workspaceId, name: "Changed", version: 2 }),
  ])
    await expect(attempt()).rejects.toMatchObject(blocked);
  expect(await client.offboarding.previewOwn.query({ workspaceId })).toMatchObject({ total: 0 });
  await client.members.leave.mutate({ workspaceId });
  await expect(client.workspaces.get.query({ workspaceId })).rejects.toMatchObject({
    message: "Insufficient access",
  });
  const left = (await client.session.current.query())?.workspaces.map(({ id }) => id);
  expect(left).not.toContain(workspaceId);
  expect((await owner.client.members.list.query({ workspaceId })).total).toBe(2);
  const { items } = await owner.client.audit.list.query({ workspaceId });
  expect(items[0]).toMatchObject({ action: "member.removed" });
});

test("the last owner can't leave without a second factor either", async () => {
  const { owner, workspaceId } = await addTeam();
  await requireFactor(owner, workspaceId);
  await resetSecondFactors(app.services.db, { id: owner.userId }, commandOrigin);
  const opened = openClient(app.baseUrl);
  await opened.client.session.signIn.mutate({ email: owner.email, password });
  await expect(opened.client.members.leave.mutate({ workspaceId })).rejects.toMatchObject({
    data: { code: "CONFLICT" },
  });
});

test("a session without the second factor doesn't count", async () => {
  const { owner, member, workspaceId } = await addTeam();
  await requireFactor(owner, workspaceId);
  await setUpTotp(member);
  await sql`update sessions set has_second_factor = false where user_id = ${member.userId}`.execute(
    app.owner,
  );
  await expect(member.client.workspaces.get.query({ workspaceId })).rejects.toMatchObject({
    data: { code: "UNAUTHORIZED" },
  });
  // After the operator has removed the factors, a new session has none.
  await resetSecondFactors(app.services.db, { id: owner.userId }, commandOrigin);
  const opened = openClient(app.baseUrl);
  await opened.client.session.signIn.mutate({ email: owner.email, password });
  await expect(opened.client.workspaces.get.query({ workspaceId })).rejects.toMatchObject(blocked);
});

test("strangers get the same response as for any other workspace", async () => {
  const { owner, workspaceId } = await addTeam();
  await requireFactor(owner, workspaceId);
  const stranger = await addPerson();
  const error = await stranger.client.workspaces.get
    .query({ workspaceId })
    .catch((reason: unknown) => reason);
  expect(error).toMatchObject({ message: "Insufficient access", data: { code: "FORBIDDEN" } });
  expect((error as { data: object }).data).not.toHaveProperty("issues");
});

test("is changed by owners and admins who have a second factor, after recent authentication", async () => {
  const { owner, admin, member, workspaceId } = await addTeam();
  await expect(requireFactor(admin, workspaceId)).rejects.toMatchObject({ data: { code: "CONFLICT" } });
  await expect(requireFactor(member, workspaceId)).rejects.toMatchObject({ message: "Insufficient access" });
  await setUpTotp(admin);
  await sql`
    update sessions set created_at = created_at - interval '901 s', authenticated_at = null
    where user_id in (${admin.userId}, ${owner.userId})`.execute(app.owner);
  await expect(requireFactor(admin, workspaceId)).rejects.toMatchObject({
    data: { issues: [{ code: "reauthentication_required" }] },
  });
  await admin.client.workspaces.update.mutate({ workspaceId, name: "Other team", version: 1 });
  await sql`update sessions set authenticated_at = clock_timestamp()`.execute(app.owner);
  await requireFactor(admin, workspaceId, { version: 2 });
  const { items } = await owner.client.audit.list.query({ workspaceId });
  expect(items[0]).toMatchObject({
    action: "workspace.second-factor-requirement-changed",
    before: { requiresSecondFactor: false },
    after: { requiresSecondFactor: true },
  });
});

test("an API key changes it under /open, if its user has a second factor", async () => {
  const { owner, admin, workspaceId } = await addTeam();
  const patch = async (userId: UserId, requiresSecondFactor: unknown) => {
    const { secret } = await app.addKey(userId);
    return await patchWith(secret, requiresSecondFactor);
  };
  const patchWith = async (secret: string, requiresSecondFactor: unknown) => {
    const response = await fetch(`${app.baseUrl}/open/workspaces/${workspaceId}`, {
      method: "PATCH",
      headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
      body: JSON.stringify({ requiresSecondFactor }),
    });
    return [response.status, await response.json()];
  };
  const withoutFactor = {
    code: "CONFLICT",
    message: expect.stringMatching(/^Set up a second factor for your own/),
  };
  expect(await patch(admin.userId, true)).toMatchObject([409, { error: withoutFactor }]);
  const { serviceAccounts } = owner.client;
  const { userId } = await serviceAccounts.create.mutate({ workspaceId, name: "CI", role: "admin" });
  const { key } = await serviceAccounts.createKey.mutate({ workspaceId, userId, name: "CI" });
  const ofService = {
    code: "CONFLICT",
    message: expect.stringMatching(/^A service account has no second factor/),
  };
  expect(await patchWith(key, true)).toMatchObject([409, { error: ofService }]);
  expect(await patch(owner.userId, "yes")).toMatchObject([400, { error: { code: "BAD_REQUEST" } }]);
  expect(await patch(owner.userId, true)).toMatchObject([200, { requiresSecondFactor: true, version: 2 }]);
  expect(await patch(admin.userId, false)).toMatchObject([403, { error: { code: "FORBIDDEN" } }]);
  expect(await patch(owner.userId, false)).toMatchObject([200, { requiresSecondFactor: false, version: 3 }]);
});

test("owners and admins see who has a second factor, and other members don't", async () => {
  const { owner, admin, member, workspaceId } = await addTeam();
  const list = async ({ client }: Pick<Opened, "client">) =>
    Object.fromEntries(
      (await client.members.list.query({ workspaceId })).items.map(({ email, hasSecondFactor }) => [
        email,
        hasSecondFactor,
      ]),
    );
  const shown = { [owner.email]: true, [admin.email]: false, [member.email]: false };
  expect(await list(owner)).toEqual(shown);
  expect(await list(admin)).toEqual(shown);
  expect(await list(member)).toEqual({ [owner.email]: null, [admin.email]: null, [member.email]: null });
  const lacking = await admin.client.members.withoutSecondFactor.query({ workspaceId });
  expect(lacking.total).toBe(2);
  expect(lacking.members.map(({ email }) => email).toSorted()).toEqual(
    [admin.email, member.email].toSorted(),
  );
});
