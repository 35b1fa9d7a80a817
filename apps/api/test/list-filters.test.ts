import { encodeId } from "@latchkey/db/ids";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

// The searches and filters of the web app's lists.

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

/** Signs in as a new user. */
async function enter() {
  const { email, userId } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  return { client, email, userId };
}

const rejects = (path: string) => ({ data: { code: "BAD_REQUEST", issues: [{ path }] } });

describe("the security log", () => {
  test("is filtered by event, and ends its pages with a cursor of the filtered list", async () => {
    const { client } = await enter();
    const { client: other } = await enter();
    await other.apiKeys.create.mutate({ name: "Foreign" });
    for (let number = 0; number < 11; number += 1)
      await client.apiKeys.create.mutate({ name: `Key ${number}` });
    await client.account.rename.mutate({ name: "Augusta" });
    const filter = { action: "key.created", pageSize: 10 } as const;
    const first = await client.securityLog.list.query(filter);
    const cursor = first.nextCursor ?? "";
    const second = await client.securityLog.list.query({ ...filter, cursor });
    const names = [...first.items, ...second.items].map(({ key }) => key?.name);
    expect(names).toEqual(Array.from({ length: 11 }, (_, number) => `Key ${10 - number}`));
    expect(second.nextCursor).toBeNull();
    const { items } = await client.securityLog.list.query({ action: "account.renamed" });
    expect(items).toMatchObject([{ action: "account.renamed", after: { name: "Augusta" } }]);
    expect((await client.securityLog.list.query({ action: "passkey.added" })).items).toEqual([]);
  });

  test("is filtered by time: from the first instant, to before the last one", async () => {
    const { client, userId } = await enter();
    await client.apiKeys.create.mutate({ name: "Old" });
    await sql`
      update security_events set occurred_at = '2026-03-01T12:00:00Z'
      where user_id = ${userId} and action = 'key.created'`.execute(app.owner);
    const list = async (period: { readonly from?: string; readonly to?: string }) =>
      (await client.securityLog.list.query(period)).items.map(({ action }) => action);
    const [noon, later] = ["2026-03-01T12:00:00Z", "2026-03-01T12:00:01Z"];
    expect(await list({ from: noon, to: later })).toEqual(["key.created"]);
    expect(await list({ to: noon })).toEqual([]);
    expect(await list({ from: later })).not.toContain("key.created");
    expect(await list({ from: later })).toContain("sign-in.succeeded");
  });

  test.each([
    ["action", "member.removed"],
    ["from", "yesterday"],
    ["to", "2026-02-30T00:00:00Z"],
  ])("rejects an invalid filter: %s", async (name, value) => {
    const { client } = await enter();
    // A value that the types don't allow.
    const invalid = { [name]: value } as Parameters<typeof client.securityLog.list.query>[0];
    await expect(client.securityLog.list.query(invalid)).rejects.toMatchObject(rejects(name));
  });
});

describe("webhooks", () => {
  test("are found by a part of the URL or the description, and by status", async () => {
    const { client } = await enter();
    const { id: workspaceId } = await client.workspaces.create.mutate({ name: "Team" });
    for (const [path, description] of [
      ["siem", "Sends to Splunk"],
      ["chat", ""],
      ["pager", ""],
    ] as const) {
      const url = `https://hooks.example.com/${path}`;
      await client.webhooks.create.mutate({ workspaceId, url, description, actions: ["key.deleted"] });
    }
    await sql`
      update webhooks set failing_since = now(),
        disabled_at = case when url like '%pager' then now() end,
        disabled_reason = case when url like '%pager' then 'failures' end
      where url not like '%siem'`.execute(app.owner);
    const list = async (filter: Partial<Parameters<typeof client.webhooks.list.query>[0]>) => {
      const { items, total } = await client.webhooks.list.query({ workspaceId, ...filter });
      expect(total).toBe(items.length);
      return items.map(({ url }) => url.split("/").at(-1));
    };
    expect(await list({})).toEqual(["siem", "chat", "pager"]);
    expect(await list({ search: "SPLUNK" })).toEqual(["siem"]);
    expect(await list({ search: "com/ch" })).toEqual(["chat"]);
    expect(await list({ search: "_" })).toEqual([]);
    expect(await list({ status: "enabled" })).toEqual(["siem"]);
    expect(await list({ status: "failing" })).toEqual(["chat"]);
    expect(await list({ status: "disabled" })).toEqual(["pager"]);
    expect(await list({ status: "disabled", search: "chat" })).toEqual([]);
    const invalid = client.webhooks.list.query({ workspaceId, status: "gone" as "failing" }); // No such status.
    await expect(invalid).rejects.toMatchObject(rejects("status"));
    await expect(list({ search: "x".repeat(101) })).rejects.toMatchObject(rejects("search"));
  });
});

test("operators find users by status and operator role", async () => {
  const own = await startTestApp();
  onTestFinished(() => own.close());
  const { email } = await own.addUser("ada@example.com"); // The first account is an operator.
  const { userId } = await own.addUser("grace@example.com");
  await own.addUser("linus@example.com");
  const { client } = openClient(own.baseUrl);
  await client.session.signIn.mutate({ email, password });
  const list = async (filter: Parameters<typeof client.operator.users.query>[0]) => {
    const { items, total } = await client.operator.users.query(filter);
    expect(total).toBe(items.length);
    return items.map((user) => user.email.split("@")[0]);
  };
  await client.operator.grantRole.mutate({ userId: encodeId("user", userId) });
  expect(await list({ isOperator: true })).toEqual(["ada", "grace"]);
  await client.operator.disableUser.mutate({ userId: encodeId("user", userId) });
  expect(await list({ isDisabled: false })).toEqual(["ada", "linus"]);
  expect(await list({ isDisabled: true })).toEqual(["grace"]);
  expect(await list({ isDisabled: false, isOperator: true })).toEqual(["ada"]);
  expect(await list({ search: "a", isDisabled: true })).toEqual(["grace"]);
  expect(await list({ search: encodeId("user", userId), isDisabled: false })).toEqual([]);
  const invalid = client.operator.users.query({ isDisabled: "yes" as unknown as boolean }); // Not a boolean.
  await expect(invalid).rejects.toMatchObject(rejects("isDisabled"));
});

test("the keys of a service account are found by name and status", async () => {
  const { client } = await enter();
  const { id: workspaceId } = await client.workspaces.create.mutate({ name: "Team" });
  const { userId } = await client.serviceAccounts.create.mutate({ workspaceId, name: "Bot", role: "member" });
  for (const name of ["Deploys", "Reports"])
    await client.serviceAccounts.createKey.mutate({ workspaceId, userId, name });
  await client.apiKeys.create.mutate({ name: "Deploys by hand" });
  await sql`update api_keys set disabled_at = now() where name = 'Reports'`.execute(app.owner);
  const list = async (filter: Partial<Parameters<typeof client.serviceAccounts.keys.query>[0]>) => {
    const { items, total } = await client.serviceAccounts.keys.query({ workspaceId, userId, ...filter });
    expect(total).toBe(items.length);
    return items.map(({ name }) => name);
  };
  expect(await list({ search: "DEPLOY" })).toEqual(["Deploys"]);
  expect(await list({ status: "disabled" })).toEqual(["Reports"]);
  expect(await list({ search: "deploy", status: "disabled" })).toEqual([]);
  await expect(list({ status: "gone" as "disabled" })).rejects.toMatchObject(rejects("status")); // No such status.
});

test("the keys of a disabled service account are shown and found as disabled", async () => {
  const { client } = await enter();
  const { id: workspaceId } = await client.workspaces.create.mutate({ name: "Team" });
  const { userId } = await client.serviceAccounts.create.mutate({ workspaceId, name: "Bot", role: "member" });
  const { id } = await client.serviceAccounts.createKey.mutate({ workspaceId, userId, name: "Deploys" });
  const list = async (status?: "active" | "disabled") => {
    const { items } = await client.serviceAccounts.keys.query({ workspaceId, userId, status });
    return items.map(({ isOwnerDisabled }) => ({ isOwnerDisabled }));
  };
  for (const isDisabled of [true, false]) {
    const shown = { isOwnerDisabled: isDisabled };
    await client.serviceAccounts.change.mutate({ workspaceId, userId, isDisabled });
    expect(await list()).toEqual([shown]);
    expect(await list("active")).toEqual(isDisabled ? [] : [shown]);
    expect(await list("disabled")).toEqual(isDisabled ? [shown] : []);
    expect(await client.apiKeys.get.query({ id })).toMatchObject(shown);
  }
});
