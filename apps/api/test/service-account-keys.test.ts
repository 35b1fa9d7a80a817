// API keys of service accounts, managed with an API key of an admin.

import { encodeId } from "@latchkey/db/ids";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createOpenClient } from "./open-client.ts";
import { addTeam, join, type Team } from "./team.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ quotas: { keysPerUser: 4 } });
});
afterAll(() => app.close());

const { send, statusOf } = createOpenClient(() => app);

interface KeyTeam extends Team {
  /** The path of the service account's keys under `/open`. */
  readonly path: string;
  readonly accountId: string;
}

/** A workspace with a service account, and its owner with a key. */
async function addTeamWithAccount(role: "admin" | "member" = "member"): Promise<KeyTeam> {
  const team = await addTeam(app);
  const account = { workspaceId: team.id, name: "Deploys", role };
  const { userId } = await team.owner.client.serviceAccounts.create.mutate(account);
  return { ...team, path: `${team.path}/service-accounts/${userId}/api-keys`, accountId: userId };
}

async function create({ path, owner }: KeyTeam, settings: object = {}, secret = owner.secret) {
  const { status, body } = await send(secret, ["POST", path], { name: "Pipeline", ...settings });
  return { status, id: String(body.id), secret: String(body.key), path: `${path}/${String(body.id)}` };
}

test("creates, lists, gets, restricts, expands, disables, rotates and deletes a key", async () => {
  const team = await addTeamWithAccount();
  const { secret: admin } = await join(app, team, "admin");
  const created = await send(admin, ["POST", team.path], {
    name: "Pipeline",
    description: "Deploys",
    isReadOnly: true,
  });
  expect(created).toMatchObject({
    status: 201,
    body: { name: "Pipeline", description: "Deploys", isReadOnly: true, version: 1, secretStatus: "issued" },
  });
  const { key: secret, secretStatus: _status, ...shown } = created.body;
  const path = `${team.path}/${String(shown.id)}`;
  expect((await send(String(secret), ["GET", "/me"])).body).toMatchObject({
    key: { id: shown.id },
    user: { id: team.accountId },
    workspaces: [{ id: team.id }],
  });
  const other = await create(team);
  expect((await send(admin, ["GET", `${team.path}?limit=1&sort=-createdAt`])).body).toMatchObject({
    data: [{ id: other.id }],
    hasMore: true,
  });
  expect((await send(admin, ["GET", `${team.path}?search=pipe&isDisabled=true`])).body.data).toEqual([]);
  const read = await send(admin, ["GET", path]);
  expect(read.etag).toBe(created.etag);
  expect(read.body).toMatchObject({ id: shown.id, usageCount: 1 });
  expect(JSON.stringify(read.body)).not.toContain(String(secret));

  const restricted = await send(admin, ["PATCH", path], { permissions: ["workspace:read"] });
  expect(restricted.body).toMatchObject({ permissions: ["workspace:read"], version: 2 });
  const stale = { "If-Match": read.etag };
  expect((await send(admin, ["PATCH", path], { name: "Stale" }, stale)).status).toBe(412);
  expect((await send(admin, ["POST", `${path}/rotate`], {}, stale)).status).toBe(412);
  expect((await send(admin, ["DELETE", path], undefined, stale)).status).toBe(412);
  expect((await send(admin, ["PATCH", path], {})).status).toBe(400);
  const expanded = await send(admin, ["PATCH", path], { permissions: null, isReadOnly: false });
  expect(expanded.body).toMatchObject({ permissions: null, isReadOnly: false });
  expect((await send(admin, ["PATCH", path], { isDisabled: true })).status).toBe(200);
  expect(await statusOf(String(secret))).toBe(403);
  expect((await send(admin, ["PATCH", path], { isDisabled: false })).status).toBe(200);
  expect(await statusOf(String(secret))).toBe(200);

  const rotated = await send(admin, ["POST", `${path}/rotate`], { overlapSeconds: 0 });
  const current = await send(admin, ["GET", path]);
  expect(rotated).toMatchObject({ status: 200, etag: current.etag });
  expect(rotated.body).toEqual({ ...current.body, key: expect.any(String), secretStatus: "issued" });
  expect(await statusOf(String(secret))).toBe(403);
  expect(await statusOf(String(rotated.body.key))).toBe(200);
  expect((await send(admin, ["DELETE", path])).status).toBe(204);
  expect(await statusOf(String(rotated.body.key))).toBe(403);
  for (const [method, suffix] of [
    ["GET", ""],
    ["PATCH", ""],
    ["POST", "/rotate"],
    ["POST", "/revoke-old-secrets"],
    ["DELETE", ""],
  ] as const) {
    const body = method === "PATCH" ? { name: "Changed" } : suffix === "/rotate" ? {} : undefined;
    expect((await send(admin, [method, `${path}${suffix}`], body)).status, method).toBe(404);
  }

  const { items } = await team.owner.client.audit.list.query({ workspaceId: team.id });
  const events = items.filter(({ target }) => target.id === shown.id);
  expect(events.map(({ action }) => action)).toEqual([
    "key.deleted",
    "key.rotated",
    "key.enabled",
    "key.disabled",
    "key.expanded",
    "key.restricted",
    "key.created",
  ]);
});

test("a quota limits the keys of a service account, and a workspace of another tenant can't be its own", async () => {
  const team = await addTeamWithAccount();
  const { id } = await addTeamWithAccount();
  expect((await create(team, { workspaceIds: [id] })).status).toBe(400);
  const statuses = (await Promise.all(Array.from({ length: 6 }, () => create(team)))).map(
    ({ status }) => status,
  );
  expect(statuses.sort()).toEqual([201, 201, 201, 201, 422, 422]);
});

test("a restricted key can read the keys of a service account, and can't change one", async () => {
  const team = await addTeamWithAccount();
  const { client, secret } = team.owner;
  const target = await create(team, { isReadOnly: true });
  const [key] = (await client.apiKeys.list.query({})).items;
  const restrict = (settings: object) =>
    client.apiKeys.update.mutate({ id: key?.id ?? "", mayWiden: true, settings });
  for (const settings of [
    { ipRanges: ["127.0.0.0/8", "::/0"] },
    { ipRanges: null, workspaceIds: [team.id] },
    { workspaceIds: null, expiresAt: { inSeconds: 3_600 } },
    { expiresAt: null, limit: { quota: 1_000, windowSeconds: 60 } },
  ]) {
    await restrict(settings);
    expect((await send(secret, ["GET", target.path])).status).toBe(200);
    const attempts = [
      create(team),
      send(secret, ["PATCH", target.path], { isReadOnly: false }),
      send(secret, ["PATCH", target.path], { isDisabled: true }),
      send(secret, ["POST", `${target.path}/rotate`], {}),
      send(secret, ["DELETE", target.path]),
    ];
    for (const { status } of await Promise.all(attempts)) expect(status).toBe(403);
  }
  await restrict({ limit: null });
  expect((await send(secret, ["PATCH", target.path], { isReadOnly: false })).status).toBe(200);
});

test("a restricted key of a service account can't expand itself", async () => {
  const team = await addTeamWithAccount("admin");
  const own = await create(team);
  expect((await send(own.secret, ["PATCH", own.path], { ipRanges: ["127.0.0.0/8"] })).status).toBe(200);
  expect((await send(own.secret, ["PATCH", own.path], { ipRanges: null })).status).toBe(403);
  expect((await send(own.secret, ["POST", `${own.path}/rotate`], {})).status).toBe(403);
});

test("an old secret can't manage keys", async () => {
  const team = await addTeamWithAccount("admin");
  const own = await create(team);
  const rotated = await send(own.secret, ["POST", `${own.path}/rotate`], { overlapSeconds: 3_600 });
  expect(rotated.status).toBe(200);
  expect((await send(own.secret, ["GET", own.path])).status).toBe(200);
  expect((await create(team, {}, own.secret)).status).toBe(403);
  expect((await send(own.secret, ["POST", `${own.path}/rotate`], {})).status).toBe(403);
  expect((await send(own.secret, ["DELETE", own.path])).status).toBe(403);
  expect((await create(team, {}, String(rotated.body.key))).status).toBe(201);
});

test("a key can't manage the keys of a service account with more permissions", async () => {
  const team = await addTeamWithAccount("admin");
  const target = await create(team);
  const { client, secret } = team.owner;
  const [key] = (await client.apiKeys.list.query({})).items;
  await client.apiKeys.update.mutate({
    id: key?.id ?? "",
    settings: { permissions: ["members:manage", "members:read", "workspace:read"] },
  });
  expect((await create(team)).status).toBe(403);
  expect((await send(secret, ["DELETE", target.path])).status).toBe(403);
});

test("a repeated creation issues another secret until the first one is used", async () => {
  const team = await addTeamWithAccount();
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  const attempt = () => send(team.owner.secret, ["POST", team.path], { name: "Once" }, headers);
  const first = await attempt();
  const second = await attempt();
  expect(second).toMatchObject({
    status: 201,
    replayed: "true",
    body: {
      id: first.body.id,
      secretStatus: "reissued",
      start: String(second.body.key).slice(0, 9),
      version: 2,
    },
  });
  expect(second.etag).toBe((await send(team.owner.secret, ["GET", `${team.path}/${first.body.id}`])).etag);
  expect(await statusOf(String(first.body.key))).toBe(403);
  expect(await statusOf(String(second.body.key))).toBe(200);
  const third = await attempt();
  expect(third.body).toMatchObject({ id: first.body.id, secretStatus: "omitted" });
  expect(third.body.key).toBeUndefined();
  expect((await send(team.owner.secret, ["GET", team.path])).body.data).toHaveLength(1);
});

test("a repeated creation replaces a secret that was only verified with cost 0", async () => {
  const team = await addTeamWithAccount();
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  const attempt = () => send(team.owner.secret, ["POST", team.path], { name: "Once" }, headers);
  const first = await attempt();
  const verification = { key: first.body.key, workspaceId: team.id, cost: 0 };
  const verified = await send(team.owner.secret, ["POST", "/keys/verify"], verification);
  expect(verified.body).toMatchObject({ code: "VALID", keyId: first.body.id });
  expect((await attempt()).body).toMatchObject({ id: first.body.id, secretStatus: "reissued" });
  expect(await statusOf(String(first.body.key))).toBe(403);
});

test("a repeated creation issues no secret to a key that was restricted after the first request", async () => {
  const team = await addTeamWithAccount();
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  const attempt = () => send(team.owner.secret, ["POST", team.path], { name: "Once" }, headers);
  const first = await attempt();
  const [key] = (await team.owner.client.apiKeys.list.query({})).items;
  const settings = { ipRanges: ["127.0.0.0/8", "::/0"] };
  await team.owner.client.apiKeys.update.mutate({ id: key?.id ?? "", settings });
  expect((await attempt()).status).toBe(403);
  expect(await statusOf(String(first.body.key))).toBe(200);
});

test("a key that rotated itself can repeat the request with its old secret", async () => {
  const team = await addTeamWithAccount("admin");
  const own = await create(team);
  const headers = { "Idempotency-Key": crypto.randomUUID() };
  const attempt = () => send(own.secret, ["POST", `${own.path}/rotate`], {}, headers);
  const first = await attempt();
  const second = await attempt();
  expect(second).toMatchObject({ status: 200, replayed: "true", body: { secretStatus: "reissued" } });
  const { key: _key, secretStatus: _status, ...shown } = second.body;
  expect((await send(team.owner.secret, ["GET", own.path])).body).toMatchObject({
    ...shown,
    usageCount: expect.any(Number),
    lastUsedAt: expect.any(String),
    // The last use of an old secret is written later.
    formerSecrets: [expect.objectContaining({ start: own.secret.slice(0, 9) })],
  });
  expect(await statusOf(String(first.body.key))).toBe(403);
  expect(await statusOf(String(second.body.key))).toBe(200);
});

test("the policy of the workspace applies to a key on its next request", async () => {
  const team = await addTeamWithAccount();
  const key = await create(team);
  const workspacePath = `/workspaces/${team.id}`;
  expect((await send(key.secret, ["GET", workspacePath])).status).toBe(200);
  const policy = await send(team.owner.secret, ["PATCH", `${workspacePath}/api-key-policy`], {
    areIpRangesRequired: true,
  });
  expect(policy.status).toBe(200);
  expect((await send(key.secret, ["GET", workspacePath])).status).toBe(403);
  // The policy rejects the owner's key too.
  expect((await create(team)).status).toBe(403);
});

test("owners and admins get a notice when a service account has nearly as many keys as it may have", async () => {
  const team = await addTeamWithAccount();
  const [admin, member] = [await join(app, team, "admin"), await join(app, team, "member")];
  const noticesOf = async (secret: string) => {
    const { body } = await send(secret, ["GET", "/me/notices"]);
    return (body.data as { kind: string; message: string }[]).filter(
      ({ kind }) => kind === "quota-nearly-reached",
    );
  };
  for (let count = 0; count < 3; count += 1) await create(team);
  expect(await noticesOf(team.owner.secret)).toEqual([]);
  await create(team);
  const message =
    "The service account “Deploys” of the workspace “Team” has 4 of at most 4 API keys. Delete keys that are no longer used, or ask the operator to raise the quota.";
  for (const { secret } of [team.owner, admin]) {
    expect(await noticesOf(secret)).toMatchObject([{ message }]);
  }
  expect(await noticesOf(member.secret)).toEqual([]);
  const { items } = await team.owner.client.notices.list.query({});
  expect(items[0]?.link).toEqual({ to: "service-account", workspaceId: team.id, userId: team.accountId });
  // Someone who no longer manages the service account loses the notice.
  const userId = encodeId("user", admin.userId);
  const change = { workspaceId: team.id, userId, role: "member", version: 1 } as const;
  await team.owner.client.members.changeRole.mutate(change);
  expect(await noticesOf(admin.secret)).toEqual([]);
});
