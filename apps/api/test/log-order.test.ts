import { encodeId } from "@latchkey/db/ids";
import { afterAll, beforeAll, expect, test } from "vitest";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

// The logs and other lists of the web app, in each order and on pages of the chosen size.

let app: TestApp;
let client: ReturnType<typeof openClient>["client"];
let workspaceId: string;

beforeAll(async () => {
  app = await startTestApp({ quotas: { webhooksPerWorkspace: 12 } });
  const { email } = await app.addUser("ada@example.com"); // The first account is an operator.
  ({ client } = openClient(app.baseUrl));
  await client.session.signIn.mutate({ email, password });
  ({ id: workspaceId } = await client.workspaces.create.mutate({ name: "Team" }));
  for (let number = 0; number < 12; number += 1)
    await client.apiKeys.create.mutate({ name: `Key ${number}` });
  for (let number = 0; number < 12; number += 1) {
    const { userId } = await app.addUser();
    await client.operator.disableUser.mutate({ userId: encodeId("user", userId) });
  }
});
afterAll(() => app.close());

interface LogInput {
  readonly sort?: "occurredAt" | "-occurredAt";
  readonly pageSize: 10 | 100;
  readonly cursor?: string;
}

test.each([
  ["the audit log", (input: LogInput) => client.audit.list.query({ workspaceId, ...input })],
  ["the security log", (input: LogInput) => client.securityLog.list.query(input)],
  ["the instance log", (input: LogInput) => client.operator.log.query(input)],
])("%s has the same events in both orders, on pages of the chosen size", async (_log, list) => {
  const newestFirst = await list({ pageSize: 100 });
  const ids = newestFirst.items.map(({ id }) => id);
  const times = newestFirst.items.map(({ occurredAt }) => occurredAt);
  expect(ids.length).toBeGreaterThan(10);
  expect(times).toEqual(times.toSorted().toReversed());
  const first = await list({ pageSize: 10, sort: "occurredAt" });
  const cursor = first.nextCursor ?? "";
  const second = await list({ pageSize: 10, sort: "occurredAt", cursor });
  const oldest = [...first.items, ...second.items].map(({ id }) => id);
  expect(first.items).toHaveLength(10);
  expect(oldest).toEqual(ids.toReversed().slice(0, oldest.length));
  // A cursor continues only in its order.
  await expect(list({ pageSize: 10, cursor })).rejects.toMatchObject({ data: { code: "BAD_REQUEST" } });
});

test("webhooks, and the deliveries to one, come in each order on pages of the chosen size", async () => {
  const urls = Array.from({ length: 12 }, (_, number) => `https://hooks.example.com/${10 + number}`);
  for (const url of urls) await client.webhooks.create.mutate({ workspaceId, url, actions: ["key.deleted"] });
  const first = await client.webhooks.list.query({ workspaceId, sort: "-url", pageSize: 10 });
  const cursor = first.nextCursor ?? "";
  const second = await client.webhooks.list.query({ workspaceId, sort: "-url", pageSize: 10, cursor });
  expect(first.items.map(({ url }) => url)).toEqual(urls.toReversed().slice(0, 10));
  expect(second.items.map(({ url }) => url)).toEqual(urls.toReversed().slice(10));
  expect([first.total, second.total]).toEqual([12, 12]);

  const id = first.items[0]?.id ?? "";
  const sent: string[] = [];
  for (let number = 0; number < 11; number += 1)
    sent.push((await client.webhooks.test.mutate({ workspaceId, id })).id);
  const newest = await client.webhooks.deliveries.query({
    workspaceId,
    id,
    sort: "-createdAt",
    pageSize: 10,
  });
  expect(newest.items.map((delivery) => delivery.id)).toEqual(sent.toReversed().slice(0, 10));
  expect(newest.nextCursor).not.toBeNull();
  const oldest = await client.webhooks.deliveries.query({ workspaceId, id, pageSize: 25 });
  expect(oldest.items.map((delivery) => delivery.id)).toEqual(sent);
  await expect(
    client.webhooks.deliveries.query({ workspaceId, id, pageSize: 11 as 10 }), // No such size.
  ).rejects.toMatchObject({ data: { code: "BAD_REQUEST" } });
});

test("the API keys of a service account come in each order on pages of the chosen size", async () => {
  const { userId } = await client.serviceAccounts.create.mutate({ workspaceId, name: "CI", role: "member" });
  const names = Array.from({ length: 11 }, (_, number) => `Key ${10 + number}`);
  for (const name of names) await client.serviceAccounts.createKey.mutate({ workspaceId, userId, name });
  const list = async (input: Partial<Parameters<typeof client.serviceAccounts.keys.query>[0]>) => {
    const { items, total } = await client.serviceAccounts.keys.query({ workspaceId, userId, ...input });
    expect(total).toBe(11);
    return items.map(({ name }) => name);
  };
  expect(await list({})).toEqual(names.toReversed());
  expect(await list({ sort: "name", direction: "asc", pageSize: 10 })).toEqual(names.slice(0, 10));
  expect(await list({ sort: "name", direction: "asc", pageSize: 10, page: 2 })).toEqual(names.slice(10));
});
