import { encodeId } from "@latchkey/db/ids";
import { afterAll, beforeAll, expect, test } from "vitest";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

// The logs in the web app, newest or oldest first.

let app: TestApp;
let client: ReturnType<typeof openClient>["client"];
let workspaceId: string;

beforeAll(async () => {
  app = await startTestApp();
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
