// Who can export an audit log in the web app, which tRPC doesn't cover.
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestApp, type TestApp } from "../test-app.ts";
import { listHiddenText, type Person, prepareFixture } from "./fixture.ts";
import { expectEffect, observe } from "./rows.ts";
import { readTable } from "./table.ts";

const [row] = readTable(`
                                nobody  stranger  removed  viewer  member  admin  owner
  POST /exports/audit-events    401     403       403      403     403     200    200
`);

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

async function openSession(person: Person | undefined): Promise<string> {
  if (!person) return "";
  const origin = { headers: new Headers(), address: null };
  const { cookies } = await app.services.sessions.open(person.userId, origin);
  return cookies[0]?.split(";")[0] ?? "";
}

async function exportAuditLog(workspaceId: string, cookie: string) {
  const response = await fetch(`${app.baseUrl}/exports/audit-events`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...(cookie && { Cookie: cookie }) },
    body: JSON.stringify({ workspaceId, format: "ndjson" }),
  });
  const body = (await response.text()).replace(/"requestId":"[^"]+"/, "");
  return { status: response.status, body };
}

test.each(Object.entries(row?.results ?? {}))("called by %s: %s", async (name, status) => {
  const caller = name as keyof NonNullable<typeof row>["results"]; // A key of the results.
  const fixture = await prepareFixture(app);
  const { tenant, otherTenant, people } = fixture;
  const actor = caller === "nobody" ? undefined : people[caller];
  const cookie = await openSession(actor);
  const { result, before, after } = await observe(app.owner, () => exportAuditLog(tenant.id, cookie));
  expect(result.status).toBe(Number(status));
  expectEffect({ before, after }, {});
  if (result.status === 200) {
    expect(result.body).toContain('"action":"member.added"');
    expect(result.body).toContain(tenant.name);
    for (const hidden of fixture.identifiers.otherTenant) expect(result.body).not.toContain(hidden);
  } else {
    for (const hidden of listHiddenText(caller, fixture)) expect(result.body).not.toContain(hidden);
    // Nobody learns whether a workspace exists.
    expect(await exportAuditLog("ws_01h455vb4pex5vsknk084sn02q", cookie)).toEqual(result);
  }
  if (caller === "owner") expect((await exportAuditLog(otherTenant.id, cookie)).status).toBe(403);
});

test("a session without the second factor that the workspace requires is rejected, and one with it isn't", async () => {
  const { tenant, people } = await prepareFixture(app);
  const { workspaceId } = tenant;
  await app.owner
    .updateTable("workspaces")
    .set({ requires_second_factor: true })
    .where("id", "=", workspaceId)
    .execute();
  const cookie = await openSession(people.owner);
  const rejected = await exportAuditLog(tenant.id, cookie);
  expect(rejected.status).toBe(403);
  expect(rejected.body).toContain("second_factor_required");
  expect(rejected.body).not.toContain(people.coOwner.email);
  await sql`
    insert into totp_factors (user_id, secret, confirmed_at)
    values (${people.owner.userId}, ''::bytea, now())`.execute(app.owner);
  await sql`update sessions set has_second_factor = true where user_id = ${people.owner.userId}`.execute(
    app.owner,
  );
  expect((await exportAuditLog(tenant.id, cookie)).status).toBe(200);
});
