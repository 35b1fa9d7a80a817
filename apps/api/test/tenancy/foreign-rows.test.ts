// Lists, searches, filters, cursors and idempotent replays never return rows of another tenant.
import { createTRPCClient, httpLink } from "@trpc/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AppRouter } from "../../src/procedures/router.ts";
import { startTestApp, type TestApp } from "../test-app.ts";
import { createFixture, prepareFixture, type TenantFixture } from "./fixture.ts";
import { timeOfUse } from "./fixture-rows.ts";

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

async function sendChange(
  secret: string,
  path: string,
  body: object,
  idempotencyKey?: string,
): Promise<Response> {
  return await fetch(`${app.baseUrl}/open${path}`, {
    method: "POST",
    headers: {
      Authorization: `Bearer ${secret}`,
      "Content-Type": "application/json",
      ...(idempotencyKey ? { "Idempotency-Key": idempotencyKey } : {}),
    },
    body: JSON.stringify(body),
  });
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

test("lists of keyspaces, issued keys and consumers contain exactly the rows of their tenant, in every order and with every filter", async () => {
  const { tenant, keyspaces, issuedKeys } = fixture;
  const keyspace = `/workspaces/${tenant.id}/keyspaces/${keyspaces.tenant.id}`;
  const { name, externalId, secret } = issuedKeys.tenant;
  const theirs = issuedKeys.otherTenant;
  const lists: readonly [path: string, sorts: readonly string[]][] = [
    [`/workspaces/${tenant.id}/keyspaces`, ["createdAt", "name"]],
    [`${keyspace}/keys`, ["createdAt", "name", "expiresAt"]],
    [`${keyspace}/consumers`, ["createdAt", "externalId"]],
  ];
  for (const [path, sorts] of lists)
    for (const sort of sorts.flatMap((field) => [field, `-${field}`]))
      expect((await list(path, { sort })).data, `${path} ${sort}`).toHaveLength(1);

  const count = async (path: string, query: Readonly<Record<string, string>>): Promise<number> =>
    (await list(path, query)).data.length;
  const keyspacesPath = `/workspaces/${tenant.id}/keyspaces`;
  const found = [
    [keyspacesPath, { search: keyspaces.tenant.name }],
    [keyspacesPath, { search: "production" }],
    [keyspacesPath, { status: "enabled" }],
    [`${keyspace}/keys`, { name }],
    [`${keyspace}/keys`, { externalId }],
    [`${keyspace}/keys`, { start: secret.slice(0, 12) }],
    [`${keyspace}/keys`, { start: "sk_live" }],
    [`${keyspace}/keys`, { status: "active" }],
    [`${keyspace}/consumers`, { search: "consumer of" }],
  ] as const;
  for (const [path, query] of found) expect([query, await count(path, query)]).toEqual([query, 1]);
  const notFound = [
    [keyspacesPath, { search: keyspaces.otherTenant.name }],
    [keyspacesPath, { search: "%" }],
    [`${keyspace}/keys`, { name: theirs.name }],
    [`${keyspace}/keys`, { name: "%" }],
    [`${keyspace}/keys`, { externalId: theirs.externalId }],
    [`${keyspace}/keys`, { start: theirs.secret.slice(0, 12) }],
    [`${keyspace}/keys`, { start: "%" }],
    [`${keyspace}/consumers`, { search: theirs.externalId }],
    [`${keyspace}/consumers`, { search: "%" }],
  ] as const;
  for (const [path, query] of notFound) expect([query, await count(path, query)]).toEqual([query, 0]);
});

test("the usage and the rejections of a keyspace contain only its own verifications", async () => {
  const { tenant, keyspaces, issuedKeys } = fixture;
  const keyspace = `/workspaces/${tenant.id}/keyspaces/${keyspaces.tenant.id}`;
  const period = {
    from: new Date(timeOfUse.getTime() - 86_400_000).toISOString(),
    to: new Date(timeOfUse.getTime() + 86_400_000).toISOString(),
  };
  for (const bucket of ["hour", "day"])
    for (const groupBy of ["key", "externalId", "outcome"]) {
      const { data } = await list(`${keyspace}/usage`, { ...period, bucket, groupBy });
      expect(data, `${groupBy} per ${bucket}`).toEqual([expect.objectContaining({ count: 9 })]);
    }
  const rejections = `${keyspace}/keys/${issuedKeys.tenant.id}/rejections`;
  expect((await list(rejections, {})).data).toHaveLength(1);
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

test("a cursor of another tenant's keyspaces, issued keys or consumers never returns that tenant's rows", async () => {
  const { tenant, otherTenant, keyspaces } = fixture;
  const post = async (path: string, body: object) => {
    const response = await sendChange(strangersKey, path, body);
    expect(response.status).toBe(201);
  };
  const theirs = `/workspaces/${otherTenant.id}/keyspaces`;
  const theirKeyspace = `${theirs}/${keyspaces.otherTenant.id}`;
  // A second row of each list, so that its first page has a cursor.
  await post(theirs, { name: "Their staging", prefix: "sk_test" });
  await post(`${theirKeyspace}/keys`, { name: "Their second", externalId: "their-second" });
  const ours = `/workspaces/${tenant.id}/keyspaces`;
  const ourKeyspace = `${ours}/${keyspaces.tenant.id}`;
  for (const [sort, from, to] of [
    ["-createdAt", theirs, ours],
    ["name", theirs, ours],
    ["createdAt", `${theirKeyspace}/keys`, `${ourKeyspace}/keys`],
    ["-name", `${theirKeyspace}/keys`, `${ourKeyspace}/keys`],
    ["expiresAt", `${theirKeyspace}/keys`, `${ourKeyspace}/keys`],
    ["-createdAt", `${theirKeyspace}/consumers`, `${ourKeyspace}/consumers`],
    ["externalId", `${theirKeyspace}/consumers`, `${ourKeyspace}/consumers`],
  ] as const) {
    const page = await list(from, { sort, limit: "1" }, strangersKey);
    expect(page.nextCursor).not.toBeNull();
    const { data } = await list(to, { sort, cursor: page.nextCursor ?? "" });
    expect(JSON.stringify(data)).not.toMatch(/Their s|their-second/);
  }
});

test("an Idempotency-Key belongs to its user: the same value from another tenant is a different request", async () => {
  const create = async (secret: string, name: string) => {
    const response = await sendChange(secret, "/workspaces", { name }, "the-same");
    const { id } = (await response.json()) as { id: string };
    return { status: response.status, id, isReplayed: response.headers.has("idempotent-replayed") };
  };
  const first = await create(strangersKey, "Kept");
  const second = await create(key, "Kept");
  expect([first.status, second.status, second.isReplayed]).toEqual([201, 201, false]);
  expect(second.id).not.toBe(first.id);
  expect(await create(key, "Kept")).toEqual({ ...second, isReplayed: true });
});

test("an Idempotency-Key of one tenant never returns the issued key of another tenant", async () => {
  const { tenant, otherTenant, keyspaces } = fixture;
  const issue = async (secret: string, path: string) => {
    const response = await sendChange(secret, path, { name: "Equal" }, "the-same-for-keys");
    const { id, key: issued } = (await response.json()) as { id: string; key: string };
    return { status: response.status, id, issued, isReplayed: response.headers.has("idempotent-replayed") };
  };
  const theirs = `/workspaces/${otherTenant.id}/keyspaces/${keyspaces.otherTenant.id}/keys`;
  const ours = `/workspaces/${tenant.id}/keyspaces/${keyspaces.tenant.id}/keys`;
  const first = await issue(strangersKey, theirs);
  const second = await issue(key, ours);
  expect([first.status, second.status, second.isReplayed]).toEqual([201, 201, false]);
  expect(second.id).not.toBe(first.id);
  expect(second.issued).not.toBe(first.issued);
  const again = await issue(key, ours);
  expect([again.status, again.id, again.isReplayed]).toEqual([201, second.id, true]);
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
