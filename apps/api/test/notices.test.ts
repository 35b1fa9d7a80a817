// Notices of the owner of a key, under /open.

import { createId, encodeId, type UserId } from "@latchkey/db/ids";
import type { KeySettings } from "@latchkey/db/key-settings";
import { noticeKinds } from "@latchkey/db/notice-kinds";
import { addNotices } from "@latchkey/db/notices";
import { maxLength } from "@latchkey/limits";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { createKey } from "../src/domain/api-keys.ts";
import { describeNotice } from "../src/domain/notice-texts.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

async function send(secret: string, request: string, body?: object) {
  const [method = "", path = ""] = request.split(" ");
  const response = await fetch(`${app.baseUrl}/open${path}`, {
    method,
    headers: { Authorization: `Bearer ${secret}`, ...(body && { "Content-Type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? {} : JSON.parse(text) };
}

async function addDevices(userId: UserId, devices: readonly string[]) {
  for (const device of devices) {
    const notice = { kind: "new-device", userId, subject: device, facts: { device, address: null } } as const;
    await app.instance.db.transaction().execute((trx) => addNotices(trx, [notice]));
  }
}

const listTitles = (list: { body: { data: { message: string }[] } }) =>
  list.body.data.map(({ message }) => /with (\w+)/.exec(message)?.[1]);

test("lists the notices in pages, newest first, and only unread or read ones", async () => {
  const { userId, secret } = await app.addKey();
  await addDevices(userId, ["one", "two", "three"]);
  const first = await send(secret, "GET /me/notices?limit=2");
  expect(first).toMatchObject({ status: 200, body: { hasMore: true } });
  expect(listTitles(first)).toEqual(["three", "two"]);
  expect(first.headers.get("Link")).toContain('rel="next"');
  const rest = await send(secret, `GET /me/notices?limit=2&cursor=${first.body.nextCursor}`);
  expect(rest.body).toMatchObject({ nextCursor: null, hasMore: false });
  expect(listTitles(rest)).toEqual(["one"]);
  expect(listTitles(await send(secret, "GET /me/notices?sort=createdAt"))).toEqual(["one", "two", "three"]);

  const [notice] = first.body.data;
  expect(notice).toMatchObject({ kind: "new-device", keyId: null, workspaceId: null, isRead: false });
  const read = await send(secret, `PATCH /me/notices/${notice.id}`, { isRead: true });
  expect(read).toMatchObject({ status: 200, body: { ...notice, isRead: true } });
  expect(await send(secret, `PATCH /me/notices/${notice.id}`, { isRead: true })).toMatchObject({
    status: 200,
  });
  expect(listTitles(await send(secret, "GET /me/notices?isUnread=true"))).toEqual(["two", "one"]);
  expect(listTitles(await send(secret, "GET /me/notices?isUnread=false"))).toEqual(["three"]);
  expect(await send(secret, "POST /me/notices/read")).toMatchObject({ status: 204 });
  expect(listTitles(await send(secret, "GET /me/notices?isUnread=true"))).toEqual([]);
});

test("names the key and the workspace of a notice, and hides a kind that the user turned off", async () => {
  const { userId, email } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  const { secret, id: keyId } = await app.addKey(userId);
  const workspaceId = createId("workspace");
  const facts = { workspaceId, workspaceName: "Team", formerRole: "member", role: "admin" };
  await app.instance.db.transaction().execute((trx) =>
    addNotices(trx, [
      { kind: "role-changed", userId, subject: "1", facts },
      { kind: "new-network", userId, subject: "2", facts: { keyId, keyName: "CI", network: "192.0.2.0/24" } },
    ]),
  );
  const { body } = await send(secret, "GET /me/notices");
  expect(body.data).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ workspaceId: encodeId("workspace", workspaceId), keyId: null }),
      expect.objectContaining({ workspaceId: null, keyId: encodeId("key", keyId) }),
    ]),
  );
  await client.notices.changeSetting.mutate({ kind: "new-device", inApp: false });
  await addDevices(userId, ["hidden"]);
  expect((await send(secret, "GET /me/notices")).body.data).toHaveLength(2);
});

test("another user's notice, and one that doesn't exist, are not found; other values than true are rejected", async () => {
  const other = await app.addKey();
  await addDevices(other.userId, ["theirs"]);
  const [notice] = (await send(other.secret, "GET /me/notices")).body.data;
  const { secret } = await app.addKey();
  for (const id of [notice.id, encodeId("notice", createId("notice"))]) {
    expect(await send(secret, `PATCH /me/notices/${id}`, { isRead: true })).toMatchObject({ status: 404 });
  }
  expect(await send(secret, "PATCH /me/notices/nonsense", { isRead: true })).toMatchObject({ status: 400 });
  expect(await send(other.secret, `PATCH /me/notices/${notice.id}`, { isRead: false })).toMatchObject({
    status: 400,
    body: { error: { issues: [{ path: "isRead" }] } },
  });
  await send(secret, "POST /me/notices/read");
  expect((await send(other.secret, "GET /me/notices?isUnread=true")).body.data).toHaveLength(1);
});

test.each<Partial<KeySettings>>([
  { isReadOnly: true },
  { permissions: ["workspace:read"] },
  { workspaceIds: [] },
])("a key restricted to %j doesn't see the notices of its owner", async (settings) => {
  const { userId } = await app.addUser();
  const key = { userId, name: "key", description: "", settings, origin: commandOrigin };
  const { db, quotas } = app.instance;
  const { secret } = await db.transaction().execute((trx) => createKey(trx, key, quotas));
  await addDevices(userId, ["one"]);
  expect(await send(secret, "GET /me/notices")).toMatchObject({ status: 403 });
  expect(await send(secret, "POST /me/notices/read")).toMatchObject({ status: 403 });
});

test("the longest notice fits the declared lengths", () => {
  const name = "n".repeat(maxLength.keyName);
  const address = "a".repeat(maxLength.ipAddress);
  const facts = {
    ...{ workspaceId: createId("workspace"), workspaceName: name, role: "viewer", inviterName: name },
    ...{ formerRole: "member", keyId: createId("key"), keyName: name, expiresAt: "2026-09-30T10:00:00Z" },
    ...{ serviceAccount: { id: createId("user"), name } },
    ...{
      address,
      network: address,
      device: name,
      quota: "serviceAccountsPerWorkspace",
      count: 1e9,
      limit: 1e9,
    },
  } as const;
  for (const kind of noticeKinds) {
    const { title, message } = describeNotice({ kind, facts } as Parameters<typeof describeNotice>[0]); // Has all facts.
    expect(title.length).toBeLessThanOrEqual(maxLength.noticeTitle);
    expect(message.length).toBeLessThanOrEqual(maxLength.noticeMessage);
  }
});
