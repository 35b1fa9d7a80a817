// Lists, searches, filters, cursors and idempotent replays never return rows of another tenant.
import { createTRPCClient, httpLink } from "@trpc/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AppRouter } from "../../src/procedures/router.ts";
import { startTestApp, type TestApp } from "../test-app.ts";
import { createFixture, prepareFixture, type TenantFixture } from "./fixture.ts";

let app: TestApp;
let fixture: TenantFixture;
/** A key of the owner of `tenant`. */
let key: string;
/** A key of the owner of `otherTenant`. */
let strangersKey: string;

beforeAll(async () => {
  app = await startTestApp();
  fixture = await prepareFixture(app);
  key = (await app.addKey(fixture.people.owner.userId)).secret;
  strangersKey = (await app.addKey(fixture.people.stranger.userId)).secret;
});
afterAll(() => app.close());

interface Page {
  readonly data: readonly Readonly<Record<string, unknown>>[];
  readonly nextCursor: string | null;
}

async function list(path: string, query: Readonly<Record<string, string>>, secret = key): Promise<Page> {
  const response = await fetch(`${app.baseUrl}/open${path}?${new URLSearchParams(query)}`, {
    headers: { Authorization: `Bearer ${secret}` },
  });
  expect(response.status).toBe(200);
  const text = await response.text();
  const hidden = secret === key ? fixture.identifiers.otherTenant : fixture.identifiers.tenant;
  for (const identifier of hidden) expect(text).not.toContain(identifier);
  return JSON.parse(text);
}

test("a search for another tenant's member, workspace or actor finds nothing", async () => {
  const { tenant, otherTenant, people } = fixture;
  const members = `/workspaces/${tenant.id}/members`;
  for (const search of [people.foreigner.email, "foreigner", "stranger", "heirs"])
    expect((await list(members, { search })).data).toEqual([]);
  expect((await list("/workspaces", { search: otherTenant.name })).data).toEqual([]);
  const events = `/workspaces/${tenant.id}/audit-events`;
  for (const { id } of [people.stranger, people.foreigner])
    expect((await list(events, { actorId: id })).data).toEqual([]);
});

test("a search treats the wildcards of SQL patterns as literal characters", async () => {
  const members = `/workspaces/${fixture.tenant.id}/members`;
  for (const search of ["%", "_", "\\", "o%r", "'", "' or true --"])
    expect((await list(members, { search })).data, search).toEqual([]);
  expect((await list(members, { search: "CO-OWNER" })).data).toHaveLength(1);
});

test("a list contains exactly the rows of its tenant, in every order and with every filter", async () => {
  const members = `/workspaces/${fixture.tenant.id}/members`;
  for (const sort of ["joinedAt", "-joinedAt", "name", "-name", "email", "-email"])
    expect((await list(members, { sort })).data).toHaveLength(7);
  expect((await list(members, { role: "viewer" })).data).toHaveLength(2);
  expect((await list(members, { kind: "service_account" })).data).toHaveLength(1);
  expect((await list(`/workspaces/${fixture.tenant.id}/service-accounts`, {})).data).toHaveLength(1);
  for (const sort of ["createdAt", "-createdAt", "name", "-name"])
    expect((await list("/workspaces", { sort })).data).toHaveLength(1);
  expect((await list("/workspaces", { role: "viewer" })).data).toEqual([]);
  for (const sort of ["occurredAt", "-occurredAt"]) {
    const { data } = await list(`/workspaces/${fixture.tenant.id}/audit-events`, { sort });
    // Includes the creation of both keys of the owner, and of the key of the service account.
    expect(data).toHaveLength(14);
  }
});

test("a cursor of another tenant's list never returns that tenant's rows", async () => {
  const { tenant, otherTenant } = fixture;
  for (const [sort, resource] of [
    ["joinedAt", "members"],
    ["-email", "members"],
    ["-occurredAt", "audit-events"],
    ["occurredAt", "audit-events"],
  ] as const) {
    const page = await list(`/workspaces/${otherTenant.id}/${resource}`, { sort, limit: "1" }, strangersKey);
    expect(page.nextCursor).not.toBeNull();
    // `list` expects that the response has no identifiers of the other tenant.
    await list(`/workspaces/${tenant.id}/${resource}`, { sort, cursor: page.nextCursor ?? "" });
  }
});

test("an Idempotency-Key belongs to its user: the same value from another tenant is a different request", async () => {
  const create = async (secret: string, name: string) => {
    const response = await fetch(`${app.baseUrl}/open/workspaces`, {
      method: "POST",
      headers: {
        Authorization: `Bearer ${secret}`,
        "Content-Type": "application/json",
        "Idempotency-Key": "the-same",
      },
      body: JSON.stringify({ name }),
    });
    const { id } = (await response.json()) as { id: string };
    return { status: response.status, id, isReplayed: response.headers.has("idempotent-replayed") };
  };
  const first = await create(strangersKey, "Kept");
  const second = await create(key, "Kept");
  expect([first.status, second.status, second.isReplayed]).toEqual([201, 201, false]);
  expect(second.id).not.toBe(first.id);
  expect(await create(key, "Kept")).toEqual({ ...second, isReplayed: true });
});

test("the web app's lists, counts and searches contain only the user's own rows", async () => {
  const newFixture = await createFixture(app);
  const { tenant, people } = newFixture;
  const { cookies } = await app.services.sessions.open(people.owner.userId, {
    headers: new Headers(),
    address: null,
  });
  const Cookie = cookies[0]?.split(";")[0] ?? "";
  const client = createTRPCClient<AppRouter>({
    links: [httpLink({ url: `${app.baseUrl}/trpc`, headers: { Cookie } })],
  });
  const input = { workspaceId: tenant.id };
  const all = await client.members.list.query(input);
  expect([all.items.length, all.total]).toEqual([7, 7]);
  for (const search of [people.foreigner.email, fixture.people.owner.email, "%", "heirs"])
    expect(await client.members.list.query({ ...input, search })).toMatchObject({ items: [], total: 0 });
  const events = await client.audit.list.query(input);
  expect(events.items).toHaveLength(13);
  for (const { id } of [people.stranger, fixture.people.owner])
    expect((await client.audit.list.query({ ...input, actorId: id })).items).toEqual([]);
  const { workspaces } = (await client.session.current.query()) ?? { workspaces: [] };
  expect(workspaces.map(({ id }) => id)).toEqual([tenant.id]);
  expect((await client.apiKeys.list.query({})).total).toBe(1);
  await app.addKey(people.stranger.userId);
  expect(await client.workspaceKeys.list.query(input)).toMatchObject({ total: 2, items: [{}, {}] });
  for (const search of [people.stranger.email, "%", "heirs"])
    expect(await client.workspaceKeys.list.query({ ...input, search })).toMatchObject({
      total: 0,
      items: [],
    });
  const log = await client.securityLog.list.query({});
  expect(log.items.map(({ key: changed }) => changed?.id)).toEqual([newFixture.ownersKey.id]);
});
