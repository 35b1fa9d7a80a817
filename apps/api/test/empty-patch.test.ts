import { openAsOperator } from "@latchkey/auth/workspace-access";
import { createId, encodeId } from "@latchkey/db/ids";
import { insertServiceAccount } from "@latchkey/db/service-accounts";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endpoints } from "../src/open/endpoints.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const patches = endpoints.filter(({ method }) => method === "PATCH");

test.each(patches)(
  "$operationId rejects an empty or missing body as a bad request, and changes nothing",
  async ({ path }) => {
    const { userId, id, secret } = await app.addKey();
    const { workspaceId } = await app.owner
      .selectFrom("members")
      .select("workspace_id as workspaceId")
      .where("user_id", "=", userId)
      .executeTakeFirstOrThrow();
    const headers = { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" };
    const webhook = await fetch(
      `${app.baseUrl}/open/workspaces/${encodeId("workspace", workspaceId)}/webhooks`,
      { method: "POST", headers, body: JSON.stringify({ url: "https://example.com" }) },
    );
    const keyspaces = `${app.baseUrl}/open/workspaces/${encodeId("workspace", workspaceId)}/keyspaces`;
    const post = async (target: string, body: object) => {
      const response = await fetch(target, { method: "POST", headers, body: JSON.stringify(body) });
      return ((await response.json()) as { id: string }).id; // The API's response.
    };
    const keyspaceId = await post(keyspaces, { name: "Production", prefix: "sk" });
    const noticeId = createId("notice");
    await sql`
      insert into notices (id, user_id, kind, subject, facts, is_shown, is_email_due)
      values (${noticeId}, ${userId}, 'new-device', 'Chrome', '{}', true, false)`.execute(app.owner);
    const ids: Record<string, string> = {
      webhookId: ((await webhook.json()) as { id: string }).id, // The API's response.
      keyId: encodeId("key", id),
      noticeId: encodeId("notice", noticeId),
      keyspaceId,
      issuedKeyId: await post(`${keyspaces}/${keyspaceId}/keys`, { name: "Acme", externalId: "acme" }),
      externalId: "acme",
      userId: encodeId("user", userId),
      workspaceId: encodeId("workspace", workspaceId),
    };
    if (path.includes("/service-accounts/")) {
      const scope = openAsOperator(workspaceId);
      const account = { name: "Deploys", role: "viewer" } as const;
      const created = await inWorkspace(app.services.db, scope, (trx) =>
        insertServiceAccount(trx, scope, account),
      );
      ids.userId = encodeId("user", created);
      ids.keyId = encodeId("key", (await app.addKey(created)).id);
    }
    const url = `${app.baseUrl}/open${path.replace(/:(\w+)/g, (_match, name: string) => ids[name] ?? "")}`;
    const readVersion = async () =>
      ((await (await fetch(url, { headers })).json()) as { version: number }).version;
    for (const body of ["{}", undefined]) {
      const response = await fetch(url, { method: "PATCH", headers, ...(body ? { body } : {}) });
      const { error } = (await response.json()) as { error: { issues: { code: string }[] } };
      expect([response.status, error.issues.map(({ code }) => code)]).toEqual([
        400,
        [expect.stringMatching(/^(no_changes|required)$/)],
      ]);
    }
    // A notice has no version.
    if (!path.includes(":noticeId")) expect(await readVersion()).toBe(1);
    const { rows } = await sql`select read_at from notices where id = ${noticeId}`.execute(app.owner);
    expect(rows).toEqual([{ read_at: null }]);
  },
);

test("the procedures of the web app reject an edit without changes", async () => {
  const { userId, email } = await app.addUser();
  const id = encodeId("key", (await app.addKey(userId)).id);
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  for (const input of [{ id }, { id, settings: {} }, { id, mayExpand: true, version: 1 }]) {
    await expect(client.apiKeys.update.mutate(input)).rejects.toMatchObject({
      data: { code: "BAD_REQUEST", issues: [{ path: "", code: "no_changes" }] },
    });
  }
  expect((await client.apiKeys.get.query({ id })).version).toBe(1);

  const { id: workspaceId } = await client.workspaces.create.mutate({ name: "Team" });
  await expect(client.workspaces.update.mutate({ workspaceId, version: 1 })).rejects.toMatchObject({
    data: { code: "BAD_REQUEST", issues: [{ path: "", code: "no_changes" }] },
  });
  expect((await client.workspaces.get.query({ workspaceId })).version).toBe(1);
});
