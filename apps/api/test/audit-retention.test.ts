// How long the audit log of a workspace is kept: who may change it, and what the change records.
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { decodeId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { addMember } from "../src/domain/members.ts";
import { defaultQuotas } from "../src/domain/quotas.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

async function addPerson() {
  const { userId, email } = await app.addUser();
  const opened = openClient(app.baseUrl);
  await opened.client.session.signIn.mutate({ email, password });
  return { userId, client: opened.client };
}

async function addTeam() {
  const [owner, admin] = [await addPerson(), await addPerson()];
  const { id: workspaceId } = await owner.client.workspaces.create.mutate({ name: "Team" });
  const scope = openAsOperator(decodeId("workspace", workspaceId) as WorkspaceId);
  await app.services.db
    .transaction()
    .execute((trx) =>
      addMember(
        trx,
        { scope, origin: commandOrigin },
        { userId: admin.userId, role: "admin" },
        defaultQuotas,
      ),
    );
  return { owner, admin, workspaceId };
}

const forbidden = { data: { code: "FORBIDDEN" } };

test("an owner changes it after recent authentication, and the audit log records the change", async () => {
  const { owner, admin, workspaceId } = await addTeam();
  const change = { workspaceId, auditRetentionDays: 90, version: 1 };
  await expect(admin.client.workspaces.update.mutate(change)).rejects.toMatchObject(forbidden);
  await sql`
    update sessions set created_at = created_at - interval '901 s', authenticated_at = null
    where user_id = ${owner.userId}`.execute(app.owner);
  await expect(owner.client.workspaces.update.mutate(change)).rejects.toMatchObject({
    data: { issues: [{ code: "reauthentication_required" }] },
  });
  await sql`update sessions set authenticated_at = clock_timestamp()`.execute(app.owner);
  expect(await owner.client.workspaces.update.mutate(change)).toMatchObject({
    auditRetentionDays: 90,
    version: 2,
  });
  expect((await owner.client.audit.list.query({ workspaceId })).items[0]).toMatchObject({
    action: "workspace.audit-retention-changed",
    before: { auditRetentionDays: null },
    after: { auditRetentionDays: 90 },
  });
  // An admin may still edit the rest, and send the value that is stored.
  const edit = { workspaceId, name: "Crew", auditRetentionDays: 90, version: 2 };
  expect(await admin.client.workspaces.update.mutate(edit)).toMatchObject({ name: "Crew", version: 3 });
});

test("under /open, the key of an owner changes it, unless it is restricted to other permissions", async () => {
  const { owner, admin, workspaceId } = await addTeam();
  const patch = async (userId: UserId, auditRetentionDays: unknown) => {
    const { secret } = await app.addKey(userId);
    const response = await fetch(`${app.baseUrl}/open/workspaces/${workspaceId}`, {
      method: "PATCH",
      headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
      body: JSON.stringify({ auditRetentionDays }),
    });
    return [response.status, await response.json()];
  };
  expect(await patch(owner.userId, 30)).toMatchObject([200, { auditRetentionDays: 30 }]);
  expect(await patch(owner.userId, null)).toMatchObject([200, { auditRetentionDays: null }]);
  for (const days of [0, 29, 3_651, 90.5, "90"]) {
    expect(await patch(owner.userId, days)).toMatchObject([400, { error: { code: "BAD_REQUEST" } }]);
  }
  expect(await patch(admin.userId, 30)).toMatchObject([403, { error: { code: "FORBIDDEN" } }]);
  const { secret } = await app.addKey(owner.userId);
  await sql`
    update api_keys set permissions = array['workspace:read', 'workspace:update']
    where user_id = ${owner.userId}`.execute(app.owner);
  const restricted = await fetch(`${app.baseUrl}/open/workspaces/${workspaceId}`, {
    method: "PATCH",
    headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
    body: JSON.stringify({ auditRetentionDays: 30 }),
  });
  expect(restricted.status).toBe(403);
});

test("a preview counts the events that would be deleted, for owners only", async () => {
  const { owner, admin, workspaceId } = await addTeam();
  const preview = { workspaceId, days: 30 };
  await expect(admin.client.audit.previewRetention.query(preview)).rejects.toMatchObject(forbidden);
  expect(await owner.client.audit.previewRetention.query(preview)).toMatchObject({ count: 0 });
  await sql`
    update audit_events set occurred_at = occurred_at - interval '31 days' where action = 'workspace.created'
      and workspace_id = ${decodeId("workspace", workspaceId)}`.execute(app.owner);
  const expected = { count: 1, isComplete: true, oldestAt: expect.any(String) };
  expect(await owner.client.audit.previewRetention.query(preview)).toEqual(expected);
  const previewUnderOpen = async (userId: UserId, days: string) => {
    const { secret } = await app.addKey(userId);
    const path = `workspaces/${workspaceId}/audit-events/retention-preview?days=${days}`;
    const response = await fetch(`${app.baseUrl}/open/${path}`, {
      headers: { Authorization: `Bearer ${secret}` },
    });
    return [response.status, await response.json()];
  };
  expect(await previewUnderOpen(owner.userId, "30")).toEqual([200, expected]);
  expect(await previewUnderOpen(owner.userId, "32")).toMatchObject([200, { count: 0, oldestAt: null }]);
  for (const days of ["29", "3651", "30.5", "", "-30"])
    expect(await previewUnderOpen(owner.userId, days)).toMatchObject([
      400,
      { error: { code: "BAD_REQUEST" } },
    ]);
  expect(await previewUnderOpen(admin.userId, "30")).toMatchObject([403, { error: { code: "FORBIDDEN" } }]);
});
