import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
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
