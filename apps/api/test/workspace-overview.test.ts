// The overview of a workspace and its list of API keys, as owners, admins and other members see them.
import { randomUUID } from "node:crypto";
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { encodeId, type KeyId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import type { KeySettings } from "@latchkey/db/key-settings";
import type { Role } from "@latchkey/db/role";
import { disableUser } from "@latchkey/db/users";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { createKey } from "../src/domain/api-key-edits.ts";
import { rotateKey } from "../src/domain/api-key-secrets.ts";
import { addMember, removeMember } from "../src/domain/members.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { createWorkspace } from "../src/domain/workspaces.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

async function signIn(name = "Ada") {
  const { email, userId } = await app.addUser();
  await app.owner.updateTable("users").set({ name }).where("id", "=", userId).execute();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  return { client, userId, email };
}

async function addWorkspace(ownerId: UserId): Promise<WorkspaceId> {
  const workspace = { name: "Team", ownerId, origin: commandOrigin };
  const { id } = await app.services.db
    .transaction()
    .execute((trx) => createWorkspace(trx, workspace, defaultQuotas));
  return id;
}

async function join(workspaceId: WorkspaceId, userId: UserId, role: Role): Promise<void> {
  const edit = { scope: openAsOperator(workspaceId), origin: commandOrigin };
  await app.services.db.transaction().execute((trx) => addMember(trx, edit, { userId, role }, defaultQuotas));
}

async function addKey(userId: UserId, name: string, settings: Partial<KeySettings> = {}): Promise<KeyId> {
  const { id } = await app.services.db
    .transaction()
    .execute((trx) =>
      createKey(trx, { userId, name, description: "", settings, origin: commandOrigin }, defaultQuotas),
    );
  return id;
}

/** Sets the creation time of a key to `days` days ago. */
async function backdate(id: KeyId, days: number): Promise<void> {
  await sql`update api_keys set created_at = now() - make_interval(days => ${days}) where id = ${id}`.execute(
    app.owner,
  );
}

/** Inserts a request count, as the usage recorder of a node does. */
async function record(
  keyId: KeyId,
  workspaceId: WorkspaceId | null,
  { outcome = "admitted", hoursAgo = 0, count = 1 } = {},
): Promise<void> {
  const hour = new Date(Math.floor(Date.now() / hourMs) * hourMs - hoursAgo * hourMs);
  await app.owner
    .insertInto("key_usage_hours")
    .values({ key_id: keyId, hour, workspace_id: workspaceId, outcome, count })
    .execute();
}

/** The last 24 hours and the current hour, split into two buckets at `splitHoursAgo`. */
function lastDay(splitHoursAgo = 1) {
  const hour = Math.floor(Date.now() / hourMs) * 3_600;
  return { starts: [hour - 24 * 3_600, hour - (splitHoursAgo - 1) * 3_600], to: hour + 3_600 };
}

/** Creates a workspace with an owner, an admin and a member, each with a key that can reach it. */
async function createTeam() {
  const [owner, admin, member] = [await signIn("Olga"), await signIn("Ann"), await signIn("Max")];
  const workspaceId = await addWorkspace(owner.userId);
  await join(workspaceId, admin.userId, "admin");
  await join(workspaceId, member.userId, "member");
  const keys = {
    owner: await addKey(owner.userId, "Owner's"),
    admin: await addKey(admin.userId, "Admin's"),
    member: await addKey(member.userId, "Member's"),
  };
  return { owner, admin, member, workspaceId, id: encodeId("workspace", workspaceId), keys };
}

const names = (page: { readonly items: readonly { readonly name: string }[] }) =>
  page.items.map(({ name }) => name);

describe("the API keys of a workspace", () => {
  test("are all keys that can reach it for owners and admins, and their own for other members", async () => {
    const { owner, admin, member, workspaceId, id, keys } = await createTeam();
    await addKey(owner.userId, "Here", { workspaceIds: [workspaceId] });
    await addKey(owner.userId, "Elsewhere", { workspaceIds: [await addWorkspace(owner.userId)] });
    const deleted = await addKey(owner.userId, "Deleted");
    await app.deleteKey({ userId: owner.userId, id: deleted });
    await addKey((await app.addUser()).userId, "A stranger's");
    const list = ({ client }: typeof owner) =>
      client.workspaceKeys.list.query({ workspaceId: id, sort: "name", direction: "asc" });
    for (const reader of [owner, admin]) {
      const page = await list(reader);
      expect(names(page)).toEqual(["Admin's", "Here", "Member's", "Owner's"]);
      expect(page).toMatchObject({ total: 4, isOwn: false });
    }
    const own = await list(member);
    expect(own).toMatchObject({ total: 1, isOwn: true, items: [{ id: encodeId("key", keys.member) }] });
    // Filtering by owner doesn't show other members more keys.
    const others = { workspaceId: id, ownerId: encodeId("user", owner.userId) };
    expect(names(await member.client.workspaceKeys.list.query(others))).toEqual(["Member's"]);
    expect((await owner.client.workspaceKeys.list.query(others)).total).toBe(2);
  });

  test("show owner, restrictions and uses in this workspace, but no secrets or other workspaces", async () => {
    const { owner, id, workspaceId } = await createTeam();
    const second = await addWorkspace(owner.userId);
    const expiresAt = new Date(Date.now() + 5 * dayMs);
    const keyId = await addKey(owner.userId, "Nightly import", {
      workspaceIds: [workspaceId, second],
      permissions: ["members:read"],
      isReadOnly: true,
      ipRanges: ["10.0.0.0/8"],
      limit: { quota: 100, windowSeconds: 60 },
      expiresAt,
    });
    await record(keyId, workspaceId, { count: 3, hoursAgo: 2 });
    await record(keyId, workspaceId, { count: 4, hoursAgo: 31 * 24 });
    await record(keyId, workspaceId, { outcome: "limited" });
    await record(keyId, second, { count: 50 });
    // Longer than the first characters of a key, which the search covers too.
    const { items } = await owner.client.workspaceKeys.list.query({
      workspaceId: id,
      search: "Nightly import",
    });
    expect(items).toMatchObject([
      {
        id: encodeId("key", keyId),
        name: "Nightly import",
        owner: { id: encodeId("user", owner.userId), name: "Olga", role: "owner", isDisabled: false },
        hasSelectedWorkspaces: true,
        permissions: ["members:read"],
        isReadOnly: true,
        ipRanges: ["10.0.0.0/8"],
        limit: { quota: 100, windowSeconds: 60 },
        expiresAt: expiresAt.toISOString(),
        isDisabled: false,
        isRotating: false,
        isRateLimited: true,
        recentUses: 3,
      },
    ]);
    const lastUsedAt = Date.parse(items[0]?.lastUsedAt ?? "");
    expect(Date.now() - lastUsedAt).toBeGreaterThanOrEqual(2 * hourMs);
    expect(Date.now() - lastUsedAt).toBeLessThan(4 * hourMs);
    const text = JSON.stringify(items);
    for (const hidden of [encodeId("workspace", second), second, "workspaceIds", "hash"])
      expect(text).not.toContain(hidden);
  });

  test("don't depend on the uses of their keys in other workspaces or in none", async () => {
    const { owner, member, id, workspaceId, keys } = await createTeam();
    const elsewhere = await addWorkspace(owner.userId);
    await join(elsewhere, member.userId, "member");
    await record(keys.admin, workspaceId, { count: 3, hoursAgo: 5 });
    for (const keyId of [keys.owner, keys.admin]) await backdate(keyId, 40);
    // The hour can end before the second read.
    const buckets = lastDay();
    const read = async () => {
      const lists: unknown[] = [];
      for (const sort of ["recentUses", "lastUsedAt"] as const)
        lists.push(await owner.client.workspaceKeys.list.query({ workspaceId: id, sort }));
      for (const status of ["limited", "unused"] as const)
        lists.push(await owner.client.workspaceKeys.list.query({ workspaceId: id, status }));
      lists.push(await owner.client.overview.keys.query({ workspaceId: id, ...buckets }));
      lists.push(await owner.client.overview.usage.query({ workspaceId: id, ...buckets }));
      return lists;
    };
    const before = await read();
    await record(keys.owner, elsewhere, { count: 1_000 });
    await record(keys.owner, elsewhere, { outcome: "limited", count: 1_000 });
    await record(keys.member, elsewhere, { count: 500, hoursAgo: 1 });
    await record(keys.owner, null, { count: 1_000, hoursAgo: 1 });
    await app.owner
      .updateTable("key_counters")
      .set({ use_count: 1_000, last_used_at: new Date() })
      .where("key_id", "=", keys.owner)
      .execute();
    expect(await read()).toEqual(before);
    expect(names(before[0] as Parameters<typeof names>[0])[0]).toBe("Admin's"); // The first list of keys.
  });

  test("can be filtered by status", async () => {
    const { owner, member, id, workspaceId, keys } = await createTeam();
    const add = (name: string, settings: Partial<KeySettings> = {}) => addKey(owner.userId, name, settings);
    await add("disabled", { isDisabled: true });
    await add("soon", { expiresAt: new Date(Date.now() + 29 * dayMs) });
    await add("later", { expiresAt: new Date(Date.now() + 31 * dayMs) });
    const expired = await add("expired", { expiresAt: new Date(Date.now() + dayMs) });
    await sql`update api_keys set expires_at = now() - interval '1 s' where id = ${expired}`.execute(
      app.owner,
    );
    const rotating = await add("rotating");
    await app.services.db
      .transaction()
      .execute((trx) =>
        rotateKey(trx, { userId: owner.userId, id: rotating, origin: commandOrigin }, 3_600, defaultQuotas),
      );
    await record(await add("limited"), workspaceId, { outcome: "limited", hoursAgo: 0 });
    await record(await add("limited long ago"), workspaceId, { outcome: "limited", hoursAgo: 3 });
    const [unused, used] = [await add("unused"), await add("used")];
    await backdate(unused, 31);
    await backdate(used, 31);
    await record(unused, workspaceId, { hoursAgo: 31 * 24 });
    await record(used, workspaceId, { hoursAgo: 29 * 24 });
    await app.services.db.transaction().execute((trx) => disableUser(trx, member.userId));
    const find = async (
      status: "active" | "disabled" | "expired" | "expiring" | "rotating" | "limited" | "unused",
    ) =>
      names(
        await owner.client.workspaceKeys.list.query({
          workspaceId: id,
          status,
          sort: "name",
          direction: "asc",
        }),
      );
    expect(await find("disabled")).toEqual(["disabled", "Member's"]);
    expect(await find("expired")).toEqual(["expired"]);
    expect(await find("expiring")).toEqual(["soon"]);
    expect(await find("rotating")).toEqual(["rotating"]);
    expect(await find("limited")).toEqual(["limited"]);
    expect(await find("unused")).toEqual(["unused"]);
    expect(await find("active")).toEqual(
      [
        "Admin's",
        "later",
        "limited",
        "limited long ago",
        "Owner's",
        "rotating",
        "soon",
        "unused",
        "used",
      ].sort((one, other) => one.toLowerCase().localeCompare(other.toLowerCase())),
    );
    expect(keys.member).toBeDefined();
  });

  test("can be sorted, searched and paged", async () => {
    const { owner, admin, id, workspaceId, keys } = await createTeam();
    await record(keys.owner, workspaceId, { count: 1, hoursAgo: 1 });
    await record(keys.admin, workspaceId, { count: 9, hoursAgo: 2 });
    const list = async (query: object) =>
      names(await owner.client.workspaceKeys.list.query({ workspaceId: id, ...query }));
    expect(await list({ sort: "recentUses" })).toEqual(["Admin's", "Owner's", "Member's"]);
    expect(await list({ sort: "lastUsedAt" })).toEqual(["Owner's", "Admin's", "Member's"]);
    expect(await list({ sort: "lastUsedAt", direction: "asc" })).toEqual(["Admin's", "Owner's", "Member's"]);
    expect(await list({ sort: "owner", direction: "asc" })).toEqual(["Admin's", "Member's", "Owner's"]);
    expect(await list({ search: "ann" })).toEqual(["Admin's"]);
    expect(await list({ search: admin.email.toUpperCase() })).toEqual(["Admin's"]);
    for (let count = 0; count < 10; count += 1) await addKey(owner.userId, `More ${count}`);
    const page = (number: number) =>
      owner.client.workspaceKeys.list.query({
        workspaceId: id,
        sort: "createdAt",
        direction: "asc",
        page: number,
        pageSize: 10,
      });
    expect(names(await page(2))).toEqual(["More 7", "More 8", "More 9"]);
    expect(await page(2)).toMatchObject({ total: 13 });
    expect(await page(3)).toMatchObject({ items: [], total: 13 });
  });

  test("don't include the keys of a removed member", async () => {
    const { owner, member, id, workspaceId } = await createTeam();
    const edit = { scope: openAsOperator(workspaceId), origin: commandOrigin };
    await app.services.db.transaction().execute((trx) => removeMember(trx, edit, { userId: member.userId }));
    const page = await owner.client.workspaceKeys.list.query({ workspaceId: id, search: "Member" });
    expect(page).toMatchObject({ items: [], total: 0 });
  });
});

describe("the overview", () => {
  test("counts requests in the workspace with all keys, by bucket and outcome", async () => {
    const { owner, member, id, workspaceId, keys } = await createTeam();
    const second = await addWorkspace(owner.userId);
    await record(keys.owner, workspaceId, { count: 2 });
    await record(keys.member, workspaceId, { count: 3 });
    await record(keys.member, workspaceId, { count: 5, hoursAgo: 3 });
    await record(keys.member, workspaceId, { outcome: "expired", count: 7 });
    await record(keys.member, workspaceId, { count: 100, hoursAgo: 30 });
    await record(keys.owner, second, { count: 100 });
    for (const { client } of [owner, member]) {
      const buckets = lastDay(2);
      const usage = await client.overview.usage.query({ workspaceId: id, ...buckets });
      const [before, after] = buckets.starts.map((start) => new Date(start * 1_000).toISOString());
      expect(usage).toEqual([
        { startsAt: before, outcome: "admitted", count: 5 },
        { startsAt: after, outcome: "admitted", count: 5 },
        { startsAt: after, outcome: "expired", count: 7 },
      ]);
    }
  });

  test("counts real requests within seconds", async () => {
    const { client, userId } = await signIn();
    const workspaceId = encodeId("workspace", await addWorkspace(userId));
    const { secret } = await app.addKey(userId);
    const path = `/open/workspaces/${workspaceId}`;
    const headers = { Authorization: `Bearer ${secret}`, "X-Request-Id": randomUUID() };
    expect((await fetch(app.baseUrl + path, { headers })).status).toBe(200);
    await expect
      .poll(() => client.overview.usage.query({ workspaceId, ...lastDay() }))
      .toMatchObject([{ outcome: "admitted", count: 1 }]);
  });

  test("lists the busiest, expiring and unused keys; members see only their own", async () => {
    const { owner, member, id, workspaceId, keys } = await createTeam();
    const expiring = await addKey(owner.userId, "Soon", { expiresAt: new Date(Date.now() + dayMs) });
    const unused = await addKey(owner.userId, "Unused");
    await backdate(unused, 40);
    await record(keys.owner, workspaceId, { count: 2 });
    await record(keys.member, workspaceId, { count: 3 });
    await record(keys.member, workspaceId, { outcome: "limited", count: 100 });
    const overview = ({ client }: typeof owner) =>
      client.overview.keys.query({ workspaceId: id, ...lastDay() });
    expect(await overview(owner)).toMatchObject({
      isOwn: false,
      total: 5,
      busiest: [
        { id: encodeId("key", keys.member), count: 3, owner: { name: "Max" } },
        { id: encodeId("key", keys.owner), count: 2, owner: { name: "Olga" } },
      ],
      expiring: { total: 1, items: [{ id: encodeId("key", expiring) }] },
      unused: { total: 1, items: [{ id: encodeId("key", unused) }] },
    });
    expect(await overview(member)).toMatchObject({
      isOwn: true,
      total: 1,
      busiest: [{ id: encodeId("key", keys.member), count: 3 }],
      expiring: { total: 0, items: [] },
      unused: { total: 0, items: [] },
    });
  });

  test("hides the names of keys that can no longer reach the workspace", async () => {
    const { owner, member, id, workspaceId, keys } = await createTeam();
    const elsewhere = await addWorkspace(owner.userId);
    await record(keys.owner, workspaceId, { count: 2 });
    await record(keys.member, workspaceId, { count: 3 });
    const ownerKey = encodeId("key", keys.owner);
    await owner.client.apiKeys.update.mutate({ id: ownerKey, settings: { isDisabled: true } });
    await owner.client.apiKeys.update.mutate({
      id: ownerKey,
      settings: { workspaceIds: [encodeId("workspace", elsewhere)] },
    });
    await member.client.members.remove.mutate({ workspaceId: id, userId: encodeId("user", member.userId) });
    await member.client.apiKeys.update.mutate({ id: encodeId("key", keys.member), name: "Private" });
    const { busiest } = await owner.client.overview.keys.query({ workspaceId: id, ...lastDay() });
    expect(busiest).toMatchObject([
      { id: encodeId("key", keys.member), name: null, start: null, count: 3 },
      { id: ownerKey, name: null, start: null, count: 2 },
    ]);
    await owner.client.apiKeys.delete.mutate({ id: ownerKey });
    const { busiest: after } = await owner.client.overview.keys.query({ workspaceId: id, ...lastDay() });
    expect(after[1]).toMatchObject({ id: ownerKey, isDeleted: false });
    const { items } = await owner.client.audit.list.query({ workspaceId: id });
    expect(items.find(({ action }) => action === "key.disabled")?.target.name).toBeNull();
  });

  test.each([
    ["no bucket", { starts: [], to: 1 }, "starts"],
    ["buckets in descending order", { starts: [2, 1], to: 3 }, "starts"],
    ["an end before the last bucket", { starts: [1, 2], to: 2 }, "to"],
    ["too many buckets", { starts: Array.from({ length: 101 }, (_, second) => second), to: 200 }, "starts"],
    ["a time out of range", { starts: [1], to: 1e15 }, "to"],
  ])("rejects %s", async (_what, buckets, path) => {
    const { owner, id } = await createTeam();
    await expect(owner.client.overview.usage.query({ workspaceId: id, ...buckets })).rejects.toMatchObject({
      data: {
        code: "BAD_REQUEST",
        issues: expect.arrayContaining([expect.objectContaining({ path: expect.stringContaining(path) })]),
      },
    });
  });
});
