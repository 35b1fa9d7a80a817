// Notices of the owner of a key, under /open.

import { openAsOperator } from "@latchkey/auth/workspace-access";
import {
  createId,
  decodeId,
  encodeId,
  type InvitationId,
  type UserId,
  type WorkspaceId,
} from "@latchkey/db/ids";
import type { KeySettings } from "@latchkey/db/key-settings";
import { type NoticeContent, noticeKinds } from "@latchkey/db/notice-kinds";
import { addNotices } from "@latchkey/db/notices";
import { writeMessage } from "@latchkey/errors/message";
import { maxLength } from "@latchkey/limits";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandOrigin } from "../src/cli/command-origin.ts";
import { acceptInvitation } from "../src/domain/accept-invitation.ts";
import { createKey } from "../src/domain/api-key-edits.ts";
import { addInvitationNotice, prepareInvitationEmail } from "../src/domain/invitation-jobs.ts";
import { addMember } from "../src/domain/members.ts";
import { describeNotice } from "../src/domain/notice-texts.ts";
import { createMailTasks } from "../src/mail/mail-tasks.ts";
import type { Mail } from "../src/mail/mailer.ts";
import { password, startTestApp, type TestApp } from "./test-app.ts";
import { openClient } from "./trpc-client.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ sendsEmail: true });
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
    await app.services.db.transaction().execute((trx) => addNotices(trx, [notice]));
  }
}

/** Adds notices that an API key can mark as read. */
async function addExpiringKeys(userId: UserId, names: readonly string[]) {
  for (const keyName of names) {
    const facts = { keyId: createId("key"), keyName, expiresAt: "2026-09-30T10:00:00Z" };
    const notice = { kind: "key-expires-in-1-day", userId, subject: keyName, facts } as const;
    await app.services.db.transaction().execute((trx) => addNotices(trx, [notice]));
  }
}

const listTitles = (list: { body: { data: { title: string }[] } }) =>
  list.body.data.map(({ title }) => /“(\w+)”/.exec(title)?.[1]);

test("lists the notices in pages, newest first, and only unread or read ones", async () => {
  const { userId, secret } = await app.addKey();
  await addExpiringKeys(userId, ["one", "two", "three"]);
  const first = await send(secret, "GET /me/notices?limit=2");
  expect(first).toMatchObject({ status: 200, body: { hasMore: true } });
  expect(listTitles(first)).toEqual(["three", "two"]);
  expect(first.headers.get("Link")).toContain('rel="next"');
  const rest = await send(secret, `GET /me/notices?limit=2&cursor=${first.body.nextCursor}`);
  expect(rest.body).toMatchObject({ nextCursor: null, hasMore: false });
  expect(listTitles(rest)).toEqual(["one"]);
  expect(listTitles(await send(secret, "GET /me/notices?sort=createdAt"))).toEqual(["one", "two", "three"]);

  const [notice] = first.body.data;
  expect(notice).toMatchObject({ kind: "key-expires-in-1-day", workspaceId: null, isRead: false });
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

test("an API key can't mark the notices of its own misuse as read, and a session can", async () => {
  const { userId, email } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  const { secret, id: keyId } = await app.addKey(userId);
  const key = { keyId, keyName: "CI" };
  const kinds = ["former-secret-used", "new-network", "new-device"] as const;
  await app.services.db.transaction().execute((trx) =>
    addNotices(trx, [
      { kind: kinds[0], userId, subject: "1", facts: { ...key, address: "192.0.2.1" } },
      { kind: kinds[1], userId, subject: "2", facts: { ...key, network: "192.0.2.0/24" } },
      { kind: kinds[2], userId, subject: "3", facts: { device: "Chrome", address: null } },
    ]),
  );
  await addExpiringKeys(userId, ["other"]);
  const listUnread = async (): Promise<{ id: string; kind: string }[]> =>
    (await send(secret, "GET /me/notices?isUnread=true")).body.data;
  const unread = await listUnread();
  expect(unread).toHaveLength(4);
  for (const { id, kind } of unread) {
    if (kind === "key-expires-in-1-day") continue;
    expect(await send(secret, `PATCH /me/notices/${id}`, { isRead: true }), kind).toMatchObject({
      status: 403,
      body: { error: { message: expect.stringContaining("Mark it as read in the web app") } },
    });
  }
  expect(await listUnread()).toEqual(unread);
  expect(await send(secret, "POST /me/notices/read")).toMatchObject({ status: 204 });
  const kept = await listUnread();
  expect(kept.map(({ kind }) => kind).sort()).toEqual([...kinds].sort());
  await client.notices.markRead.mutate({ id: kept[0]?.id ?? "" });
  expect(await listUnread()).toHaveLength(2);
  await client.notices.markAllRead.mutate();
  expect(await listUnread()).toEqual([]);
});

test("names the key and the workspace of a notice, and hides a kind that the user turned off", async () => {
  const { userId, email } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  const { secret, id: keyId } = await app.addKey(userId);
  const workspaceId = createId("workspace");
  const facts = { workspaceId, workspaceName: "Team", formerRole: "member", role: "admin" };
  await app.services.db.transaction().execute((trx) =>
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
  await addExpiringKeys(other.userId, ["theirs"]);
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
  const { db, quotas } = app.services;
  const { secret } = await db.transaction().execute((trx) => createKey(trx, key, quotas));
  await addDevices(userId, ["one"]);
  expect(await send(secret, "GET /me/notices")).toMatchObject({ status: 403 });
  expect(await send(secret, "POST /me/notices/read")).toMatchObject({ status: 403 });
});

/** A workspace of a new user, with another user as an admin, and notices to both about a key of a service account. */
async function addManagedWorkspace() {
  const [owner, admin] = [await app.addUser(), await app.addUser()];
  await setVerified(admin.userId, true);
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email: owner.email, password });
  const { id } = await client.workspaces.create.mutate({ name: "Team" });
  const workspaceId = decodeId("workspace", id) as WorkspaceId; // The workspace was just created.
  const edit = { scope: openAsOperator(workspaceId), origin: commandOrigin };
  const { db, quotas } = app.services;
  await db
    .transaction()
    .execute((trx) => addMember(trx, edit, { userId: admin.userId, role: "admin" }, quotas));
  const key = { keyId: createId("key"), keyName: "CI" };
  const ofAccount = { ...key, serviceAccount: { id: createId("user"), name: "Deploys" } };
  const network = "192.0.2.0/24";
  await db.transaction().execute((trx) =>
    addNotices(
      trx,
      [owner, admin].flatMap(({ userId }) => [
        { kind: "new-network", userId, subject: "here", facts: { ...ofAccount, workspaceId, network } },
        {
          ...{ kind: "new-network", userId, subject: "elsewhere" },
          facts: { ...ofAccount, workspaceId: createId("workspace"), network },
        },
        { kind: "new-network", userId, subject: "own", facts: { ...key, network } },
      ]),
    ),
  );
  const listSubjects = async ({ userId }: { userId: UserId }) => {
    const query = app.owner.selectFrom("notices").select("subject").where("user_id", "=", userId);
    const rows = await query.where("kind", "=", "new-network").orderBy("subject").execute();
    return rows.map(({ subject }) => subject);
  };
  return { id, client, owner, admin, listSubjects };
}

test.each(["removed", "demoted"])(
  "a manager who is %s loses the notices about keys of service accounts",
  async (change) => {
    const { id: workspaceId, client, owner, admin, listSubjects } = await addManagedWorkspace();
    const userId = encodeId("user", admin.userId);
    expect(await listSubjects(admin)).toEqual(["elsewhere", "here", "own"]);
    if (change === "removed") await client.members.remove.mutate({ workspaceId, userId });
    else await client.members.changeRole.mutate({ workspaceId, userId, role: "member", version: 1 });
    expect(await listSubjects(admin)).toEqual(["elsewhere", "own"]);
    expect(await listSubjects(owner)).toEqual(["elsewhere", "here", "own"]);
    const mails = (await runJob(admin.userId)).filter(({ subject }) => subject.includes("new network"));
    expect(mails).toHaveLength(2);
  },
);

test("a manager keeps these notices if the new role also manages service accounts", async () => {
  const { id: workspaceId, client, admin, listSubjects } = await addManagedWorkspace();
  const userId = encodeId("user", admin.userId);
  await client.members.changeRole.mutate({ workspaceId, userId, role: "owner", version: 1 });
  expect(await listSubjects(admin)).toEqual(["elsewhere", "here", "own"]);
});

/** The facts of all kinds together. */
function factsWith(name: string, address = "192.0.2.1") {
  return {
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
}

/** Runs the job that emails notices, and returns what it sends. */
async function runJob(userId: UserId): Promise<readonly Mail[]> {
  const mails: Mail[] = [];
  await createTasks(mails)["send-notices"]({ userId }, "1");
  return mails;
}

async function setVerified(userId: UserId, isVerified: boolean): Promise<void> {
  await app.owner.updateTable("users").set({ email_verified: isVerified }).where("id", "=", userId).execute();
}

test("an email address that is not verified gets no email, not even one that was already due", async () => {
  const { userId, email } = await app.addUser();
  await addDevices(userId, ["Chrome"]);
  await setVerified(userId, true);
  expect(await runJob(userId)).toEqual([]);
  await addDevices(userId, ["Firefox", "Safari"]);
  await setVerified(userId, false);
  expect(await runJob(userId)).toEqual([]);
  await setVerified(userId, true);
  await addDevices(userId, ["Edge"]);
  expect(await runJob(userId)).toMatchObject([{ to: email }]);
});

const createTasks = (mails: Mail[]) =>
  createMailTasks({
    db: app.services.db,
    mailer: { send: async (mail) => void mails.push(mail) },
    baseUrl: app.baseUrl,
  });

test("an email that the server never accepts doesn't delay those of later notices", async () => {
  const { userId } = await app.addUser();
  await setVerified(userId, true);
  await addDevices(userId, ["Chrome", "Firefox"]);
  const texts: string[] = [];
  const tasks = createMailTasks({
    db: app.services.db,
    mailer: {
      async send({ text }) {
        texts.push(text.join("\n"));
        if (text.join("\n").includes("Chrome")) throw new Error("not accepted");
      },
    },
    baseUrl: app.baseUrl,
  });
  for (let attempt = 0; attempt < 2; attempt += 1)
    await expect(tasks["send-notices"]({ userId }, "1")).rejects.toThrow("not accepted");
  expect(texts).toMatchObject(
    ["Chrome", "Firefox", "Chrome"].map((device) => expect.stringContaining(device)),
  );
});

// The email with the link is the email of an invitation. The next test turns it off.
test.each(noticeKinds)("%s is turned off in the app, by email, and both", async (kind) => {
  const { userId, email } = await app.addUser();
  await setVerified(userId, true);
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  const readIds = async () =>
    (await client.notices.list.query({})).items.filter((notice) => notice.kind === kind).map(({ id }) => id);
  const change = async (inApp: boolean, byEmail: boolean) => {
    await client.notices.changeSetting.mutate({ kind, inApp, byEmail });
    const before = (await readIds()).length;
    const content = { kind, facts: factsWith("name") } as NoticeContent; // Has all facts.
    const notice = { ...content, userId, subject: `${inApp} ${byEmail}` };
    await app.services.db.transaction().execute((trx) => addNotices(trx, [notice]));
    return { shown: (await readIds()).length - before, mails: (await runJob(userId)).length };
  };
  const mails = kind === "invitation" ? 0 : 1;
  expect(await change(true, true)).toEqual({ shown: 1, mails });
  expect(await change(false, true)).toEqual({ shown: 0, mails });
  expect(await change(true, false)).toEqual({ shown: 1, mails: 0 });
  expect(await change(false, false)).toEqual({ shown: 0, mails: 0 });
});

test("the email with an invitation is turned off by the owner of the verified email address", async () => {
  const [inviter, invited] = [await app.addUser(), await app.addUser()];
  const [{ client: inviting }, { client }] = [openClient(app.baseUrl), openClient(app.baseUrl)];
  await inviting.session.signIn.mutate({ email: inviter.email, password });
  await client.session.signIn.mutate({ email: invited.email, password });
  await setVerified(invited.userId, true);
  const kind = "invitation";
  const invite = async () => {
    const { id } = await inviting.workspaces.create.mutate({ name: "Team" });
    const invitation = { workspaceId: id, email: invited.email, role: "member" } as const;
    const sent = await inviting.invitations.create.mutate(invitation);
    const mails: Mail[] = [];
    const job = {
      workspaceId: decodeId("workspace", id) as WorkspaceId, // The workspace was just created.
      invitationId: decodeId("invitation", sent.id) as InvitationId, // So was the invitation.
    };
    await addInvitationNotice(app.services.db, job);
    await createTasks(mails)["send-invitation"](job, "1");
    const notices = (await client.notices.list.query({})).items.filter((notice) => notice.kind === kind);
    return { mails: mails.map(({ to }) => to), notices: notices.length };
  };
  expect(await invite()).toEqual({ mails: [invited.email], notices: 1 });
  await client.notices.changeSetting.mutate({ kind, byEmail: false });
  expect(await invite()).toEqual({ mails: [], notices: 2 });
  await client.notices.changeSetting.mutate({ kind, inApp: false, byEmail: true });
  expect(await invite()).toEqual({ mails: [invited.email], notices: 2 });
  // Anyone can sign up with an address that they can't read.
  await client.notices.changeSetting.mutate({ kind, byEmail: false });
  await setVerified(invited.userId, false);
  expect(await invite()).toEqual({ mails: [invited.email], notices: 2 });
});

test("the notice of an invitation is deleted when the invitation is revoked or accepted, or the user is added", async () => {
  const [inviter, invited] = [await app.addUser(), await app.addUser()];
  const { client: inviting } = openClient(app.baseUrl);
  await inviting.session.signIn.mutate({ email: inviter.email, password });
  await setVerified(invited.userId, true);
  const { secret } = await app.addKey(invited.userId);
  const listInvitations = async () => {
    const { body } = await send(secret, "GET /me/notices");
    return body.data.filter(({ kind }: { readonly kind: string }) => kind === "invitation");
  };
  const invite = async () => {
    const { id: workspaceId } = await inviting.workspaces.create.mutate({ name: "Team" });
    const invitation = { workspaceId, email: invited.email, role: "member" } as const;
    const { id } = await inviting.invitations.create.mutate(invitation);
    const job = {
      workspaceId: decodeId("workspace", workspaceId) as WorkspaceId, // The workspace was just created.
      invitationId: decodeId("invitation", id) as InvitationId, // So was the invitation.
    };
    await addInvitationNotice(app.services.db, job);
    return { workspaceId, id, job };
  };
  const [kept, revoked, added, accepted] = [await invite(), await invite(), await invite(), await invite()];
  expect(await listInvitations()).toHaveLength(4);
  const { workspaceId, id } = revoked;
  await inviting.invitations.revoke.mutate({ workspaceId, id });
  expect(await listInvitations()).toHaveLength(3);
  const { db, baseUrl, quotas } = app.services;
  const { userId } = invited;
  const edit = { scope: openAsOperator(added.job.workspaceId), origin: commandOrigin };
  await db.transaction().execute((trx) => addMember(trx, edit, { userId, role: "viewer" }, quotas));
  expect(await listInvitations()).toHaveLength(2);
  const sent = await prepareInvitationEmail(db, accepted.job, baseUrl);
  const token = sent?.url.split("#")[1] ?? "";
  const invitee = { userId, address: null, requestId: null };
  await db.transaction().execute((trx) => acceptInvitation(trx, token, invitee, quotas));
  expect(await listInvitations()).toHaveLength(1);
  // A job that runs late adds no notice.
  for (const { job } of [revoked, added, accepted]) await addInvitationNotice(db, job);
  expect(await listInvitations()).toHaveLength(1);
  await inviting.invitations.revoke.mutate({ workspaceId: kept.workspaceId, id: kept.id });
  expect(await listInvitations()).toEqual([]);
});

test("an email about a changed address has the same ID in each attempt of its job", async () => {
  const { userId, email } = await app.addUser();
  const mails: Mail[] = [];
  const send = createTasks(mails)["send-email-changed"];
  for (const jobId of ["1-1700000000000", "1-1700000000000", "2-1700000000000"])
    await send({ userId, email }, jobId);
  const [first, second, other] = mails.map(({ id }) => id);
  expect(first).toBe("email-changed-1-1700000000000");
  expect(second).toBe(first);
  expect(other).not.toBe(first);
});

test("the web app gets the time and the counts of a notice, and the open API a text with them", async () => {
  const { userId, email } = await app.addUser();
  const { client } = openClient(app.baseUrl);
  await client.session.signIn.mutate({ email, password });
  const { secret, id: keyId } = await app.addKey(userId);
  const expiresAt = "2026-03-15T14:30:00.000Z";
  const quota = { quota: "keysPerUser", count: 1_204, limit: 1_300 } as const;
  const nowhere = { workspaceId: null, workspaceName: null };
  const invited = { workspaceName: "Team", role: "viewer", inviterName: "Ada" };
  await app.services.db.transaction().execute((trx) =>
    addNotices(trx, [
      {
        kind: "key-expires-in-7-days",
        userId,
        subject: "1",
        facts: { keyId, keyName: "CI", expiresAt },
      },
      { kind: "quota-nearly-reached", userId, subject: "2", facts: { ...quota, ...nowhere } },
      { kind: "invitation", userId, subject: "3", facts: invited },
    ]),
  );
  const { items } = await client.notices.list.query({});
  const messages = Object.fromEntries(items.map(({ kind, pieces }) => [kind, pieces]));
  expect(messages["key-expires-in-7-days"]).toContainEqual({ time: expiresAt });
  expect(messages["quota-nearly-reached"]).toEqual(
    expect.arrayContaining([{ count: 1_204 }, { count: 1_300 }]),
  );
  const { body } = await send(secret, "GET /me/notices");
  const texts = body.data.map(({ message }: { readonly message: string }) => message).sort();
  // Pages of a previous version, which are still open, show this text.
  expect(items.map(({ message }) => message).sort()).toEqual(texts);
  expect(texts).toEqual([
    "Ada invited you to join the workspace “Team” as a viewer. Open the link in the invitation to join.",
    "Requests with the API key “CI” are rejected from March 15, 2026 at 2:30 PM UTC. To keep using it, change its expiry.",
    "You have 1,204 of at most 1,300 API keys. Delete keys that are no longer used, or ask the operator to raise the quota.",
  ]);
});

test("the longest notice fits the declared lengths", () => {
  const facts = factsWith("n".repeat(maxLength.keyName), "a".repeat(maxLength.ipAddress));
  for (const kind of noticeKinds) {
    const { title, message } = describeNotice({ kind, facts } as Parameters<typeof describeNotice>[0]); // Has all facts.
    expect(title.length).toBeLessThanOrEqual(maxLength.noticeTitle);
    expect(writeMessage(message).length).toBeLessThanOrEqual(maxLength.noticeMessage);
  }
});
