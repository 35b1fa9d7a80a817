// The policy of a workspace for API keys, and keys that the workspace blocks, through the open API and the web app.
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { encodeId, type KeyId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import type { KeySettings } from "@latchkey/db/key-settings";
import type { Role } from "@latchkey/db/role";
import type { Db } from "@latchkey/db/schema";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { createKey } from "../src/domain/api-key-edits.ts";
import { blockWorkspaceKeys, unblockWorkspaceKeys } from "../src/domain/key-policies.ts";
import { addMember, removeMember } from "../src/domain/members.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { createWorkspace } from "../src/domain/workspaces.ts";
import { countStatements } from "./count-statements.ts";
import type { OpenReply } from "./open-client.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

interface TestKey {
  readonly keyId: KeyId;
  readonly id: string;
  readonly secret: string;
  readonly send: (method: string, path: string, options?: SendOptions) => Promise<Reply>;
}

interface SendOptions {
  readonly body?: object;
  readonly ifMatch?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Reply {
  readonly status: number;
  readonly etag: string | null;
  readonly body: OpenReply["body"];
}

async function addKey(userId: UserId, settings: Partial<KeySettings> = {}): Promise<TestKey> {
  const key = { userId, name: "CI", description: "", settings, origin: commandOrigin };
  const { id: keyId, secret } = await app.services.db
    .transaction()
    .execute((trx) => createKey(trx, key, defaultQuotas));
  return {
    keyId,
    id: encodeId("key", keyId),
    secret,
    send: async (method, path, { body, ifMatch, headers } = {}) => {
      const response = await fetch(`${app.baseUrl}/open${path}`, {
        method,
        headers: {
          Authorization: `Bearer ${secret}`,
          ...(body ? { "Content-Type": "application/json" } : {}),
          ...(ifMatch ? { "If-Match": ifMatch } : {}),
          ...headers,
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
      });
      const text = await response.text();
      return {
        status: response.status,
        etag: response.headers.get("etag"),
        body: text === "" ? {} : JSON.parse(text),
      };
    },
  };
}

async function addWorkspace(ownerId: UserId, name = "Team"): Promise<WorkspaceId> {
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

/** A workspace with an owner, whose key manages it, and a member with a key. */
async function addTeam() {
  const [owner, member] = [await app.addUser(), await app.addUser()];
  const workspaceId = await addWorkspace(owner.userId);
  await join(workspaceId, member.userId, "member");
  const keys = {
    owner: await addKey(owner.userId, { ipRanges: ["127.0.0.0/8"] }),
    member: await addKey(member.userId),
  };
  const path = `/workspaces/${encodeId("workspace", workspaceId)}`;
  return { owner, member, workspaceId, id: encodeId("workspace", workspaceId), keys, path };
}

async function signIn({ email }: { readonly email: string }) {
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  return client;
}

/** Lets the password of a user's session be too old for sensitive changes. */
async function age(userId: UserId): Promise<void> {
  await sql`
    update sessions set authenticated_at = null, created_at = clock_timestamp() - interval '1 day'
    where user_id = ${userId}`.execute(app.owner);
}

const reauthentication = { data: { code: "FORBIDDEN", issues: [{ code: "reauthentication_required" }] } };
const forbidden = { code: "FORBIDDEN", message: "Insufficient access" };

test("a blocked key is rejected in the workspace without a reason, and works again when it is unblocked", async () => {
  const { keys, path, id } = await addTeam();
  const { owner, member } = keys;
  expect((await member.send("GET", path)).status).toBe(200);
  for (let attempt = 1; attempt <= 2; attempt += 1)
    expect((await owner.send("PUT", `${path}/api-keys/${member.id}/block`)).status).toBe(204);
  const rejected = await member.send("GET", path);
  expect([rejected.status, rejected.body.error]).toEqual([403, expect.objectContaining(forbidden)]);
  expect((await member.send("GET", "/global/config")).status).toBe(200);
  // Lists of the key's workspaces omit this one.
  expect(JSON.stringify((await member.send("GET", "/workspaces")).body)).not.toContain(id);
  expect(JSON.stringify((await member.send("GET", "/me")).body)).not.toContain(id);
  expect((await owner.send("GET", `${path}/api-keys/${member.id}`)).body).toMatchObject({
    isBlocked: true,
    blockedByName: "Ada",
    blockedByKind: "person",
    blockedAt: expect.any(String),
    violation: null,
  });
  expect((await owner.send("DELETE", `${path}/api-keys/${member.id}/block`)).status).toBe(204);
  expect((await member.send("GET", path)).status).toBe(200);
  expect(JSON.stringify((await member.send("GET", "/workspaces")).body)).toContain(id);
  const events = (await owner.send("GET", `${path}/audit-events?sort=-occurredAt&limit=2`)).body.data;
  expect(events).toMatchObject([
    { action: "key.unblocked", target: { kind: "key", id: member.id }, before: { isBlocked: true } },
    { action: "key.blocked", target: { kind: "key", id: member.id } },
  ]);
});

test("a block outlives the rotation of the key and a new membership of its owner", async () => {
  const { keys, path, member, workspaceId } = await addTeam();
  await keys.owner.send("PUT", `${path}/api-keys/${keys.member.id}/block`);
  const rotated = await keys.member.send("POST", `/api-keys/${keys.member.id}/rotate`, {
    body: { overlapSeconds: 3_600 },
  });
  expect(rotated.status).toBe(200);
  const response = await fetch(`${app.baseUrl}/open${path}`, {
    headers: { Authorization: `Bearer ${rotated.body.key}` },
  });
  expect(response.status).toBe(403);
  const edit = { scope: openAsOperator(workspaceId), origin: commandOrigin };
  await app.services.db.transaction().execute((trx) => removeMember(trx, edit, { userId: member.userId }));
  await join(workspaceId, member.userId, "admin");
  expect((await keys.member.send("GET", path)).status).toBe(403);
});

test("a key that the workspace blocks changes no other key of its owner that reaches the workspace", async () => {
  const { keys, path, member } = await addTeam();
  const elsewhere = await addWorkspace(member.userId, "Elsewhere");
  const other = await addKey(member.userId, { ipRanges: ["127.0.0.0/8"] });
  const unrelated = await addKey(member.userId, { workspaceIds: [elsewhere] });
  const deleted = await addKey(member.userId);
  await keys.member.send("DELETE", `/api-keys/${deleted.id}`);
  const rotation = { body: { overlapSeconds: 3_600 } };
  const rotate = async ({ id }: TestKey, headers = {}) =>
    await keys.member.send("POST", `/api-keys/${id}/rotate`, { ...rotation, headers });
  const named = { "Idempotency-Key": "rotation-of-the-other-key" };
  expect((await rotate(other, named)).status).toBe(200);
  await keys.owner.send("PUT", `${path}/api-keys/${keys.member.id}/block`);
  for (const [method, suffix, options] of [
    ["POST", "/rotate", rotation],
    // A retry would issue another secret.
    ["POST", "/rotate", { ...rotation, headers: named }],
    ["PATCH", "", { body: { isDisabled: true } }],
    ["POST", "/revoke-old-secrets", {}],
    ["DELETE", "", {}],
  ] as const) {
    const { status, body } = await keys.member.send(method, `/api-keys/${other.id}${suffix}`, options);
    expect([method, status, body.error]).toEqual([method, 403, expect.objectContaining(forbidden)]);
  }
  expect((await keys.member.send("GET", `/api-keys/${other.id}`)).body).toMatchObject({ isDisabled: false });
  expect((await rotate(unrelated)).status).toBe(200);
  expect((await rotate(deleted)).status).toBe(404);
  await keys.owner.send("DELETE", `${path}/api-keys/${keys.member.id}/block`);
  // The policy of a workspace doesn't prevent it: an unrestricted key has no IP ranges.
  await keys.owner.send("PATCH", `${path}/api-key-policy`, { body: { areIpRangesRequired: true } });
  expect((await keys.member.send("GET", path)).status).toBe(403);
  expect((await rotate(other)).status).toBe(200);
});

test("a key that can't reach the workspace can be neither read nor blocked there", async () => {
  const { keys, path, owner } = await addTeam();
  const stranger = await addKey((await app.addUser()).userId);
  const elsewhere = await addKey(owner.userId, { workspaceIds: [await addWorkspace(owner.userId)] });
  for (const { id } of [stranger, elsewhere]) {
    for (const [method, suffix] of [
      ["GET", ""],
      ["PUT", "/block"],
      ["DELETE", "/block"],
    ] as const) {
      const reply = await keys.owner.send(method, `${path}/api-keys/${id}${suffix}`);
      expect(reply).toMatchObject({ status: 404, body: { error: { code: "NOT_FOUND" } } });
    }
  }
  expect((await stranger.send("GET", "/me")).status).toBe(200);
});

test("each rule of a policy rejects the keys that violate it, and the list names the rule", async () => {
  const { keys, path } = await addTeam();
  const { owner, member } = keys;
  const violationOf = async () => (await owner.send("GET", `${path}/api-keys/${member.id}`)).body.violation;
  const change = async (body: object) => {
    const { status } = await owner.send("PATCH", `${path}/api-key-policy`, { body });
    expect(status).toBe(200);
  };
  await change({ areIpRangesRequired: true });
  expect([await violationOf(), (await member.send("GET", path)).status]).toEqual(["ip-ranges-required", 403]);
  expect((await owner.send("GET", `${path}/api-keys?status=policy`)).body.data).toMatchObject([
    { id: member.id },
  ]);
  expect((await owner.send("GET", `${path}/api-keys?status=active`)).body.data).toMatchObject([
    { id: owner.id },
  ]);
  await change({ areIpRangesRequired: false });
  expect([await violationOf(), (await member.send("GET", path)).status]).toEqual([null, 200]);
});

test("a policy that rejects the key that set it stays until someone else changes it", async () => {
  const { keys, path, owner, id } = await addTeam();
  const body = { isExpiryRequired: true };
  expect((await keys.owner.send("PATCH", `${path}/api-key-policy`, { body })).status).toBe(200);
  expect((await keys.owner.send("GET", path)).status).toBe(403);
  const client = await signIn(owner);
  expect(await client.workspaceKeys.policy.query({ workspaceId: id })).toEqual({
    maxLifetimeDays: null,
    isExpiryRequired: true,
    areIpRangesRequired: false,
    maxIdleDays: null,
    version: 2,
  });
  await client.workspaceKeys.changePolicy.mutate({ workspaceId: id, isExpiryRequired: false, version: 2 });
  expect((await keys.owner.send("GET", path)).status).toBe(200);
});

test("an edit of a policy keeps the members that it leaves out, and requires the version that it names", async () => {
  const { keys, path } = await addTeam();
  const { send } = keys.owner;
  const first = await send("GET", `${path}/api-key-policy`);
  expect(first.body).toEqual({
    maxLifetimeDays: null,
    isExpiryRequired: false,
    areIpRangesRequired: false,
    maxIdleDays: null,
    version: 1,
  });
  const ifMatch = first.etag ?? "";
  const changed = await send("PATCH", `${path}/api-key-policy`, { body: { maxIdleDays: 30 }, ifMatch });
  expect(changed.body).toMatchObject({ maxIdleDays: 30, version: 2 });
  const outdated = await send("PATCH", `${path}/api-key-policy`, { body: { maxIdleDays: 7 }, ifMatch });
  expect(outdated).toMatchObject({ status: 412, body: { error: { code: "PRECONDITION_FAILED" } } });
  // The same values again are no change.
  const same = await send("PATCH", `${path}/api-key-policy`, { body: { maxIdleDays: 30 } });
  expect(same.body.version).toBe(2);
  const more = await send("PATCH", `${path}/api-key-policy`, { body: { areIpRangesRequired: true } });
  expect(more.body).toMatchObject({ maxIdleDays: 30, areIpRangesRequired: true, version: 3 });
  const events = (await send("GET", `${path}/audit-events?action=api-key-policy.changed`)).body.data;
  expect(events).toMatchObject([
    { before: { areIpRangesRequired: false }, after: { areIpRangesRequired: true } },
    { before: { maxIdleDays: null }, after: { maxIdleDays: 30 } },
  ]);
});

test.each([
  [{ maxLifetimeDays: 0 }, "maxLifetimeDays"],
  [{ maxLifetimeDays: 3_651 }, "maxLifetimeDays"],
  [{ maxIdleDays: 91 }, "maxIdleDays"],
  [{ maxIdleDays: 1.5 }, "maxIdleDays"],
  [{ isExpiryRequired: null }, "isExpiryRequired"],
])("an invalid policy is rejected: %j", async (body, path) => {
  const team = await addTeam();
  const reply = await team.keys.owner.send("PATCH", `${team.path}/api-key-policy`, { body });
  expect(reply).toMatchObject({ status: 400, body: { error: { issues: [{ path }] } } });
});

test("a preview lists exactly the keys that the policy then rejects, last used first", async () => {
  const { keys, path, owner, member, workspaceId, id } = await addTeam();
  const expiresAt = new Date(Date.now() + 40 * 86_400_000);
  const more = {
    short: await addKey(member.userId, { expiresAt: new Date(Date.now() + 86_400_000) }),
    long: await addKey(member.userId, { expiresAt }),
    disabled: await addKey(member.userId, { isDisabled: true }),
    blocked: await addKey(member.userId),
    elsewhere: await addKey(owner.userId, { workspaceIds: [await addWorkspace(owner.userId)] }),
  };
  await keys.owner.send("PUT", `${path}/api-keys/${more.blocked.id}/block`);
  await sql`
    insert into key_usage_hours (key_id, hour, workspace_id, outcome, count)
    values (${more.long.keyId}, date_trunc('hour', clock_timestamp()) + interval '1 hour', ${workspaceId}, 'admitted', 1)`.execute(
    app.owner,
  );
  const client = await signIn(owner);
  const policy = { maxLifetimeDays: 30 };
  const preview = await client.workspaceKeys.previewPolicy.query({ workspaceId: id, ...policy });
  expect(preview).toMatchObject({ total: 3, isComplete: true });
  expect(preview.keys[0]).toMatchObject({
    id: more.long.id,
    violation: "max-lifetime",
    owner: { name: "Ada" },
    lastUsedAt: expect.any(String),
  });
  const stopped = new Set(preview.keys.map((key) => key.id));
  const reached = { ...keys, ...more };
  const admits = async (key: TestKey) => (await key.send("GET", path)).status === 200;
  const before = await Promise.all(Object.values(reached).map(admits));
  await client.workspaceKeys.changePolicy.mutate({ workspaceId: id, ...policy, version: 1 });
  const after = await Promise.all(Object.values(reached).map(admits));
  for (const [index, key] of Object.values(reached).entries())
    expect(stopped.has(key.id)).toBe(before[index] === true && after[index] === false);
  // They are already rejected, so a stricter policy stops only the others.
  const stricter = await client.workspaceKeys.previewPolicy.query({
    workspaceId: id,
    areIpRangesRequired: true,
  });
  expect(stricter.keys.map((key) => key.id)).toEqual([more.short.id]);
});

test("the open API previews a policy by its query", async () => {
  const { keys, path } = await addTeam();
  const preview = async (query: string) =>
    await keys.owner.send("GET", `${path}/api-key-policy/preview?${query}`);
  expect((await preview("")).body).toEqual({ keys: [], total: 0, isComplete: true });
  expect((await preview("areIpRangesRequired=true")).body).toMatchObject({
    total: 1,
    keys: [{ id: keys.member.id, violation: "ip-ranges-required" }],
  });
  expect((await preview("maxLifetimeDays=30&maxIdleDays=none&isExpiryRequired=false")).body.total).toBe(2);
  for (const query of ["maxIdleDays=0", "maxIdleDays=91", "maxIdleDays=x", "isExpiryRequired=1"])
    expect((await preview(query)).status).toBe(400);
});

test("blocking and a stricter policy don't require recent authentication; unblocking and a looser policy do", async () => {
  const { keys, owner, id } = await addTeam();
  const client = await signIn(owner);
  await age(owner.userId);
  const keyIds = [keys.member.id];
  await client.workspaceKeys.block.mutate({ workspaceId: id, keyIds });
  await expect(client.workspaceKeys.unblock.mutate({ workspaceId: id, keyIds })).rejects.toMatchObject(
    reauthentication,
  );
  await client.workspaceKeys.changePolicy.mutate({
    workspaceId: id,
    ...{
      maxIdleDays: 30,
      maxLifetimeDays: 30,
      isExpiryRequired: true,
      areIpRangesRequired: true,
      version: 1,
    },
  });
  await client.workspaceKeys.changePolicy.mutate({ workspaceId: id, maxIdleDays: 29, version: 2 });
  for (const looser of [
    { maxIdleDays: 30 },
    { maxIdleDays: null },
    { maxLifetimeDays: 31 },
    { maxLifetimeDays: null },
    { isExpiryRequired: false },
    { areIpRangesRequired: false },
    { maxIdleDays: 1, isExpiryRequired: false },
  ]) {
    await expect(
      client.workspaceKeys.changePolicy.mutate({ workspaceId: id, ...looser, version: 3 }),
    ).rejects.toMatchObject(reauthentication);
  }
  await client.account.confirmPassword.mutate({ password });
  await client.workspaceKeys.unblock.mutate({ workspaceId: id, keyIds });
  await client.workspaceKeys.changePolicy.mutate({ workspaceId: id, maxIdleDays: 30, version: 3 });
});

test("several keys are blocked and unblocked together, all or none", async () => {
  const { keys, owner, member, id, path } = await addTeam();
  const second = await addKey(member.userId);
  const stranger = await addKey((await app.addUser()).userId);
  const client = await signIn(owner);
  const change = { workspaceId: id, keyIds: [keys.member.id, second.id] };
  await expect(
    client.workspaceKeys.block.mutate({ workspaceId: id, keyIds: [keys.member.id, stranger.id] }),
  ).rejects.toMatchObject({ data: { code: "NOT_FOUND" } });
  expect((await keys.member.send("GET", path)).status).toBe(200);
  await client.workspaceKeys.block.mutate(change);
  for (const key of [keys.member, second]) expect((await key.send("GET", path)).status).toBe(403);
  const blocked = await client.workspaceKeys.list.query({ workspaceId: id, status: "blocked" });
  expect(blocked.items.map((key) => key.id).sort()).toEqual([...change.keyIds].sort());
  await client.workspaceKeys.unblock.mutate(change);
  for (const key of [keys.member, second]) expect((await key.send("GET", path)).status).toBe(200);
});

test("ten keys are blocked and unblocked with as many statements as one key", async () => {
  const { owner, member, workspaceId } = await addTeam();
  const ids: KeyId[] = [];
  for (let count = 1; count <= 10; count += 1) ids.push((await addKey(member.userId)).keyId);
  const actor = { kind: "session", userId: owner.userId, isRecentlyAuthenticated: true } as const;
  const edit = { scope: openAsOperator(workspaceId), origin: { ...commandOrigin, actor } };
  const counts = [];
  for (const chosen of [ids.slice(0, 1), ids])
    for (const change of [blockWorkspaceKeys, unblockWorkspaceKeys]) {
      const work = (db: Db) => db.transaction().execute((trx) => change(trx, edit, chosen));
      counts.push(await countStatements(app.services.db, work));
    }
  expect(counts.slice(2)).toEqual(counts.slice(0, 2));
  const { rows } = await sql`
    select action, count(*)::integer from audit_events
    where target_id = any(${ids}::uuid[]) and action in ('key.blocked', 'key.unblocked')
    group by action order by action`.execute(app.owner);
  expect(rows).toEqual([
    { action: "key.blocked", count: 11 },
    { action: "key.unblocked", count: 11 },
  ]);
});

test("an idle key regains access to the workspace from an admin, and not by rotating itself", async () => {
  const { keys, path, workspaceId, member } = await addTeam();
  await sql`update api_keys set created_at = now() - interval '40 days' where id = ${keys.member.keyId}`.execute(
    app.owner,
  );
  await sql`
    update members set created_at = now() - interval '40 days'
    where workspace_id = ${workspaceId} and user_id = ${member.userId}`.execute(app.owner);
  await keys.owner.send("PATCH", `${path}/api-key-policy`, { body: { maxIdleDays: 30 } });
  expect((await keys.member.send("GET", path)).status).toBe(403);
  const rotated = await keys.member.send("POST", `/api-keys/${keys.member.id}/rotate`, {
    body: { overlapSeconds: 3_600 },
  });
  const response = await fetch(`${app.baseUrl}/open${path}`, {
    headers: { Authorization: `Bearer ${rotated.body.key}` },
  });
  expect(response.status).toBe(403);
  expect((await keys.owner.send("DELETE", `${path}/api-keys/${keys.member.id}/block`)).status).toBe(204);
  expect((await keys.member.send("GET", path)).status).toBe(200);
  const { body } = await keys.owner.send("GET", `${path}/audit-events?action=key.unblocked`);
  expect(body.data?.[0]).toMatchObject({ target: { id: keys.member.id }, before: { isIdle: true } });
});

test("admins and the owner of a key see that a service account blocked the key", async () => {
  const { keys, path, owner, member, id } = await addTeam();
  const admin = await signIn(owner);
  const { userId } = await admin.serviceAccounts.create.mutate({
    workspaceId: id,
    name: "Guard",
    role: "admin",
  });
  const { key } = await admin.serviceAccounts.createKey.mutate({ workspaceId: id, userId, name: "Guard" });
  const blocked = await fetch(`${app.baseUrl}/open${path}/api-keys/${keys.member.id}/block`, {
    method: "PUT",
    headers: { Authorization: `Bearer ${key}` },
  });
  expect(blocked.status).toBe(204);
  const shown = { blockedByName: "Guard", blockedByKind: "service_account" };
  const { body } = await keys.owner.send("GET", `${path}/api-keys/${keys.member.id}`);
  expect(body).toMatchObject(shown);
  const client = await signIn(member);
  const rejecting = await client.apiKeys.rejectingWorkspaces.query({ id: keys.member.id });
  expect(rejecting).toMatchObject([shown]);
});

test("the owner of a key sees which workspaces reject it, who blocked it and why, also in the key's history", async () => {
  const { keys, path, member, id } = await addTeam();
  await keys.owner.send("PUT", `${path}/api-keys/${keys.member.id}/block`);
  const client = await signIn(member);
  const rejecting = async () => await client.apiKeys.rejectingWorkspaces.query({ id: keys.member.id });
  expect(await rejecting()).toMatchObject([
    { workspace: { id, name: "Team" }, isBlocked: true, blockedByName: "Ada", violation: null },
  ]);
  await keys.member.send("GET", path);
  await keys.owner.send("DELETE", `${path}/api-keys/${keys.member.id}/block`);
  await keys.owner.send("PATCH", `${path}/api-key-policy`, { body: { areIpRangesRequired: true } });
  expect(await rejecting()).toMatchObject([
    {
      workspace: { id },
      isBlocked: false,
      violation: "ip-ranges-required",
      policy: { areIpRangesRequired: true, maxIdleDays: null },
    },
  ]);
  await keys.member.send("GET", path);
  await expect
    .poll(async () =>
      (await client.keyHistory.refusals.query({ id: keys.member.id })).map(({ reason }) => reason),
    )
    .toEqual(["policy", "blocked"]);
  const evaluated = await client.keyHistory.evaluate.mutate({
    id: keys.member.id,
    method: "GET",
    path: `/open${path}`,
  });
  expect(evaluated).toMatchObject({ status: 403, outcome: "policy" });
});

test("the form of a new key gets the workspaces that would reject it", async () => {
  const { keys, path, member, id } = await addTeam();
  const other = await addWorkspace(member.userId, "Other");
  await keys.owner.send("PATCH", `${path}/api-key-policy`, { body: { maxLifetimeDays: 30 } });
  // The policy rejects the owner's key too, which never expires.
  expect((await keys.owner.send("GET", path)).status).toBe(403);
  const client = await signIn(member);
  const check = async (settings: Parameters<typeof client.apiKeys.checkPolicies.query>[0]["settings"]) =>
    await client.apiKeys.checkPolicies.query({ settings });
  const violated = [
    { workspace: { id, name: "Team" }, violation: "max-lifetime", policy: { maxLifetimeDays: 30 } },
  ];
  expect(await check({})).toMatchObject(violated);
  expect(await check({ workspaceIds: [id] })).toMatchObject(violated);
  expect(await check({ expiresAt: { inSeconds: 31 * 86_400 } })).toMatchObject(violated);
  expect(await check({ workspaceIds: [encodeId("workspace", other)] })).toEqual([]);
  expect(await check({ expiresAt: { inSeconds: 30 * 86_400 } })).toEqual([]);
  const { key: secret } = await client.apiKeys.create.mutate({
    name: "Valid",
    settings: { expiresAt: { inSeconds: 30 * 86_400 } },
  });
  const response = await fetch(`${app.baseUrl}/open${path}`, {
    headers: { Authorization: `Bearer ${secret}` },
  });
  expect(response.status).toBe(200);
});

test("policies and blocks apply to keys of service accounts, which admins manage", async () => {
  const { owner, workspaceId, id, keys, path } = await addTeam();
  const client = await signIn(owner);
  const { userId } = await client.serviceAccounts.create.mutate({
    workspaceId: id,
    name: "Deploys",
    role: "member",
  });
  const created = await client.serviceAccounts.createKey.mutate({
    workspaceId: id,
    userId,
    name: "Pipeline",
  });
  const status = async () => {
    const headers = { Authorization: `Bearer ${created.key}` };
    return (await fetch(`${app.baseUrl}/open${path}`, { headers })).status;
  };
  expect(await status()).toBe(200);
  const shown = { id: userId, name: "Deploys", kind: "service_account" };
  const preview = await client.workspaceKeys.previewPolicy.query({ workspaceId: id, isExpiryRequired: true });
  expect(preview.keys.find((key) => key.id === created.id)).toMatchObject({ owner: shown });
  await keys.owner.send("PUT", `${path}/api-keys/${created.id}/block`);
  expect(await status()).toBe(403);
  const { body } = await keys.owner.send("GET", `${path}/api-keys/${created.id}`);
  expect(body).toMatchObject({ owner: { ...shown, email: null }, isBlocked: true });
  expect(await client.apiKeys.rejectingWorkspaces.query({ id: created.id })).toMatchObject([
    { workspace: { id }, isBlocked: true, blockedByName: "Ada" },
  ]);
  // A member without the permission to see all keys learns nothing about the key.
  const viewer = await app.addUser();
  await join(workspaceId, viewer.userId, "viewer");
  const viewing = await signIn(viewer);
  expect(await viewing.apiKeys.rejectingWorkspaces.query({ id: created.id })).toEqual([]);
  await keys.owner.send("DELETE", `${path}/api-keys/${created.id}/block`);
  expect(await status()).toBe(200);
  await keys.owner.send("PATCH", `${path}/api-key-policy`, { body: { areIpRangesRequired: true } });
  expect(await status()).toBe(403);
  expect(await client.apiKeys.rejectingWorkspaces.query({ id: created.id })).toMatchObject([
    { workspace: { id }, isBlocked: false, violation: "ip-ranges-required" },
  ]);
});
