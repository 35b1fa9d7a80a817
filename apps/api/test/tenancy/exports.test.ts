// Who can export an audit log and the usage of keyspaces in the web app, which tRPC doesn't cover.
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestApp, type TestApp } from "../test-app.ts";
import { listHiddenText, prepareFixture, type TenantFixture } from "./fixture.ts";
import type { Person } from "./fixture-rows.ts";
import { expectEffect, observe } from "./rows.ts";
import { readTable } from "./table.ts";

const rows = readTable(`
                                nobody  stranger  removed  viewer  member  admin  owner
  POST /exports/audit-events    401     403       403      403     403     200    200
  POST /exports/verifications   401     403       403      200     200     200    200
`);
type Caller = keyof (typeof rows)[number]["results"];

/** What each export is asked for, in addition to the workspace, and what the file then contains. */
const plans: Readonly<Record<string, Plan>> = {
  "POST /exports/audit-events": {
    body: () => ({ format: "ndjson" }),
    shows: ({ tenant }) => ['"action":"member.added"', tenant.name],
  },
  "POST /exports/verifications": {
    body: () => ({ keyspaceId: null, groupBy: "key", ...dayOfUse() }),
    shows: ({ issuedKeys, keyspaces }) => [issuedKeys.tenant.id, keyspaces.tenant.id, ",9,9"],
  },
};

interface Plan {
  readonly body: () => object;
  readonly shows: (fixture: TenantFixture) => readonly string[];
}

/** One bucket around now. */
function dayOfUse() {
  const now = Math.floor(Date.now() / 1_000);
  return { starts: [now - 86_400], to: now + 86_400 };
}

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

async function exportFile(name: string, input: object, cookie: string) {
  const response = await fetch(`${app.baseUrl}${name.replace("POST ", "")}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...(cookie && { Cookie: cookie }) },
    body: JSON.stringify(input),
  });
  const body = (await response.text()).replace(/"requestId":"[^"]+"/, "");
  return { status: response.status, body };
}

function exportAuditLog(workspaceId: string, cookie: string) {
  return exportFile("POST /exports/audit-events", { workspaceId, format: "ndjson" }, cookie);
}

const calls = rows.flatMap(({ name, results }) =>
  Object.entries(results).map(([caller, status]) => [name, caller as Caller, status] as const),
);

test.each(calls)("%s, called by %s: %s", async (name, caller, status) => {
  const plan = plans[name];
  if (!plan) throw new Error(`There is no plan for ${name}.`);
  const fixture = await prepareFixture(app);
  const { tenant, otherTenant, people } = fixture;
  const actor = caller === "nobody" ? undefined : people[caller];
  const cookie = await openSession(actor);
  const exportFrom = (workspaceId: string) => exportFile(name, { workspaceId, ...plan.body() }, cookie);
  const { result, before, after } = await observe(app.owner, () => exportFrom(tenant.id));
  expect(result.status).toBe(Number(status));
  expectEffect({ before, after }, {});
  if (result.status === 200) {
    for (const text of plan.shows(fixture)) expect(result.body).toContain(text);
    for (const hidden of fixture.identifiers.otherTenant) expect(result.body).not.toContain(hidden);
  } else {
    for (const hidden of listHiddenText(caller, fixture)) expect(result.body).not.toContain(hidden);
    // Nobody learns whether a workspace exists.
    expect(await exportFrom("ws_01h455vb4pex5vsknk084sn02q")).toEqual(result);
  }
  if (caller === "owner") expect((await exportFrom(otherTenant.id)).status).toBe(403);
});

test.each(["outcome", "key", "externalId", "tag"])(
  "the usage by %s of a keyspace of another workspace is not found",
  async (groupBy) => {
    const { tenant, people, keyspaces } = await prepareFixture(app);
    const cookie = await openSession(people.owner);
    const body = { workspaceId: tenant.id, keyspaceId: keyspaces.otherTenant.id, groupBy, ...dayOfUse() };
    const { status, body: text } = await exportFile("POST /exports/verifications", body, cookie);
    expect(status).toBe(404);
    for (const hidden of Object.values(keyspaces.otherTenant)) expect(text).not.toContain(hidden);
  },
);

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
