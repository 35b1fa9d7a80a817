// What is asked for in one's own workspace never comes from another: lists, searches, filters, cursors, kept answers.
import { createTRPCClient, httpLink } from "@trpc/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AppRouter } from "../../src/admin/router.ts";
import { startTestApp, type TestApp } from "../test-app.ts";
import { type Stage, setStage } from "./stage.ts";

let app: TestApp;
let stage: Stage;
/** Of our owner. */
let key: string;
/** Of the owner of the other workspace. */
let strangersKey: string;

beforeAll(async () => {
  app = await startTestApp();
  stage = await setStage(app);
  key = (await app.addKey(stage.people.owner.userId)).secret;
  strangersKey = (await app.addKey(stage.people.stranger.userId)).secret;
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
  const hidden = secret === key ? stage.marks.theirs : stage.marks.ours;
  for (const mark of hidden) expect(text).not.toContain(mark);
  return JSON.parse(text);
}

test("a search for another tenant's member, workspace or actor finds nothing", async () => {
  const { ours, theirs, people } = stage;
  const members = `/workspaces/${ours.id}/members`;
  for (const search of [people.foreigner.email, "foreigner", "stranger", "heirs"])
    expect((await list(members, { search })).data).toEqual([]);
  expect((await list("/workspaces", { search: theirs.name })).data).toEqual([]);
  const events = `/workspaces/${ours.id}/audit-events`;
  for (const { id } of [people.stranger, people.foreigner])
    expect((await list(events, { actorId: id })).data).toEqual([]);
});

test("what stands for anything in a pattern stands for itself in a search", async () => {
  const members = `/workspaces/${stage.ours.id}/members`;
  for (const search of ["%", "_", "\\", "o%r", "'", "' or true --"])
    expect((await list(members, { search })).data, search).toEqual([]);
  expect((await list(members, { search: "CO-OWNER" })).data).toHaveLength(1);
});

test("a list holds all of one's own and nothing else, in every order and with every filter", async () => {
  const members = `/workspaces/${stage.ours.id}/members`;
  for (const sort of ["joinedAt", "-joinedAt", "name", "-name", "email", "-email"])
    expect((await list(members, { sort })).data).toHaveLength(6);
  expect((await list(members, { role: "viewer" })).data).toHaveLength(2);
  for (const sort of ["createdAt", "-createdAt", "name", "-name"])
    expect((await list("/workspaces", { sort })).data).toHaveLength(1);
  expect((await list("/workspaces", { role: "viewer" })).data).toEqual([]);
  for (const sort of ["occurredAt", "-occurredAt"]) {
    const { data } = await list(`/workspaces/${stage.ours.id}/audit-events`, { sort });
    // With the creation of both keys of the owner.
    expect(data).toHaveLength(10);
  }
});

test("another list's cursor leads to one's own rows, or nowhere", async () => {
  const { ours, theirs } = stage;
  for (const [sort, resource] of [
    ["joinedAt", "members"],
    ["-email", "members"],
    ["-occurredAt", "audit-events"],
    ["occurredAt", "audit-events"],
  ] as const) {
    const page = await list(`/workspaces/${theirs.id}/${resource}`, { sort, limit: "1" }, strangersKey);
    expect(page.nextCursor).not.toBeNull();
    // What comes is looked through for their marks.
    await list(`/workspaces/${ours.id}/${resource}`, { sort, cursor: page.nextCursor ?? "" });
  }
});

test("an Idempotency-Key is its user's own: the same name from another tenant is another request", async () => {
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
  const mine = await create(strangersKey, "Kept");
  const other = await create(key, "Kept");
  expect([mine.status, other.status, other.isReplayed]).toEqual([201, 201, false]);
  expect(other.id).not.toBe(mine.id);
  expect(await create(key, "Kept")).toEqual({ ...other, isReplayed: true });
});

test("the web app's lists, counts and searches hold one's own rows alone", async () => {
  const fresh = await setStage(app);
  const { ours, people } = fresh;
  const { cookies } = await app.instance.sessions.open(people.owner.userId, new Headers());
  const Cookie = cookies[0]?.split(";")[0] ?? "";
  const client = createTRPCClient<AppRouter>({
    links: [httpLink({ url: `${app.baseUrl}/trpc`, headers: { Cookie } })],
  });
  const inOurs = { workspaceId: ours.id };
  const all = await client.members.list.query(inOurs);
  expect([all.items.length, all.total]).toEqual([6, 6]);
  for (const search of [people.foreigner.email, stage.people.owner.email, "%", "heirs"])
    expect(await client.members.list.query({ ...inOurs, search })).toMatchObject({ items: [], total: 0 });
  const events = await client.audit.list.query(inOurs);
  expect(events.items).toHaveLength(9);
  for (const { id } of [people.stranger, stage.people.owner])
    expect((await client.audit.list.query({ ...inOurs, actorId: id })).items).toEqual([]);
  const { workspaces } = (await client.session.current.query()) ?? { workspaces: [] };
  expect(workspaces.map(({ id }) => id)).toEqual([ours.id]);
  expect((await client.apiKeys.list.query({})).total).toBe(1);
  await app.addKey(people.stranger.userId);
  expect(await client.workspaceKeys.list.query(inOurs)).toMatchObject({ total: 1, items: [{}] });
  for (const search of [people.stranger.email, "%", "heirs"])
    expect(await client.workspaceKeys.list.query({ ...inOurs, search })).toMatchObject({
      total: 0,
      items: [],
    });
  const log = await client.securityLog.list.query({});
  expect(log.items.map(({ key: changed }) => changed?.id)).toEqual([fresh.ownersKey.id]);
});
