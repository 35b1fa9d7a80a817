import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Account, callProcedure, createKey, signUp } from "../support/account.ts";
import { open } from "../support/inspection.ts";
import { type Mailbox, startMailbox } from "../support/mailbox.ts";
import { getMembership } from "../support/membership.ts";
import type { InProcessNode } from "../support/node-in-process.ts";
import { callOpen } from "../support/open-call.ts";
import { connectionTo, eventually } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { TestInstance } from "../support/test-instance.ts";

// Two nodes create notices and email them, by jobs. Each notice is created and emailed once.

let mailbox: Mailbox;
let instance: TestInstance;
let database: pg.Client;
let node: InProcessNode;
let ada: Account;
let grace: Account;
let workspaceId: string;

beforeAll(async () => {
  mailbox = await startMailbox();
  instance = await createPreparedInstance({
    SMTP_URL: mailbox.url,
    TRUSTED_PROXIES: "127.0.0.0/8",
    MAX_KEYS_PER_USER: "20",
    MAX_WORKSPACES_PER_USER: "10",
    MAX_MEMBERS_PER_WORKSPACE: "2",
  });
  node = await instance.startInProcess();
  await instance.startInProcess();
  database = await open(await connectionTo(instance.cluster));
  ada = await signUp(node.baseUrl, "ada@example.com");
  grace = await signUp(node.baseUrl, "grace@example.com");
  for (const account of [ada, grace]) {
    const { text } = await mailbox.receive(account.email);
    await call(account, "account.verifyEmail", { token: /#(.+)$/m.exec(text)?.[1] });
  }
  ({ workspaceId } = await getMembership(node.baseUrl, ada));
});
afterAll(async () => {
  await database?.end();
  await instance?.close();
  await mailbox?.stop();
});

async function call(account: Account, path: string, input: object): Promise<unknown> {
  const { cookie } = account;
  const { status, code, data } = await callProcedure(node.baseUrl, { path, kind: "mutation", input, cookie });
  expect({ status, code }).toEqual({ status: 200, code: undefined });
  return data;
}

let version = 0;

/** Changes the role of the only member whose role changes, an hour after earlier changes. */
async function changeRole(userId: string, role: string): Promise<void> {
  await database.query("update throttle_buckets set full_at = full_at - interval '1 hour'");
  version += 1;
  await call(ada, "members.changeRole", { workspaceId, userId, role, version });
}

interface ListedNotice {
  readonly kind: string;
  readonly title: string;
  readonly isRead: boolean;
}

async function listNotices({ cookie }: Account, kind: string): Promise<ListedNotice[]> {
  const { data } = await callProcedure(node.baseUrl, {
    path: "notices.list",
    kind: "query",
    input: {},
    cookie,
  });
  return (data as { items: ListedNotice[] }).items.filter((notice) => notice.kind === kind); // The router's response.
}

/** Runs the job that finds notices twice, at the same time on both nodes, and waits until all mail is sent. */
async function findNotices(): Promise<void> {
  await database.query(
    "select add_job('find-notices', '{}', key, 1) from unnest(array['one', 'two']) as key",
  );
  await waitForJobs();
}

async function waitForJobs(): Promise<void> {
  await eventually("all jobs have ended", async () => {
    const { rows } = await database.query("select from graphile_worker.jobs");
    return rows.length === 0;
  });
}

const mailsAbout = (subject: string) => mailbox.mails.filter((mail) => mail.subject === subject);

/** Expects exactly one notice of a kind to a user, and one email. */
async function expectOneNotice(account: Account, kind: string, title: string): Promise<void> {
  await findNotices();
  await findNotices();
  expect(await listNotices(account, kind)).toMatchObject([{ title, isRead: false }]);
  expect(mailsAbout(title)).toMatchObject([{ to: account.email }]);
}

test("the job that finds notices is scheduled", async () => {
  await eventually("a node has added the job", async () => {
    const { rows } = await database.query(
      `select from graphile_worker._private_known_crontabs
      where identifier = 'find-notices' and last_execution is not null`,
    );
    return rows.length === 1;
  });
});

test("a user with a verified address gets a notice of an invitation, and the email with the link once", async () => {
  await call(ada, "invitations.create", { workspaceId, email: grace.email, role: "viewer" });
  const title = "Invitation to Ada Lovelace’s workspace";
  await waitForJobs();
  const [notice, ...others] = await listNotices(grace, "invitation");
  expect(others).toEqual([]);
  expect(mailsAbout(notice?.title ?? title)).toHaveLength(1);
  expect((await mailbox.receive(grace.email, 1)).text).toContain("/invitation#");
});

test("an unverified address gets no notice of an invitation in the app", async () => {
  const stranger = await signUp(node.baseUrl, "stranger@example.com");
  await call(ada, "invitations.create", { workspaceId, email: stranger.email, role: "viewer" });
  await waitForJobs();
  expect(await listNotices(stranger, "invitation")).toEqual([]);
});

test("a workspace that has nearly as many members as it may have creates a notice for its owner", async () => {
  const { text } = await mailbox.receive(grace.email, 1);
  await call(grace, "invitations.accept", { token: /#(.+)$/m.exec(text)?.[1] });
  await expectOneNotice(ada, "quota-nearly-reached", "Quota for members nearly reached");
});

test("a member whose role was changed by someone else gets a notice, sent again after a failure of the server", async () => {
  const { userId } = await getMembership(node.baseUrl, grace);
  mailbox.rejectNext(2);
  await changeRole(userId, "member");
  await waitForJobs();
  const notices = await listNotices(grace, "role-changed");
  expect(notices).toHaveLength(1);
  const title = notices[0]?.title ?? "";
  expect(mailsAbout(title)).toMatchObject([{ to: grace.email }]);
  // A receiver that got the email before the failure can discard the repetition.
  const attempts = mailbox.attempts.filter(({ subject }) => subject === title);
  expect(attempts).toHaveLength(3);
  expect(new Set(attempts.map(({ messageId }) => messageId)).size).toBe(1);
  expect(attempts[0]?.messageId).toMatch(/^<notice-[\w-]+@127\.0\.0\.1>$/);
});

test("a key that expires creates a notice 7 days and 1 day before, unless its lifetime is shorter", async () => {
  const { id } = await createKey(node.baseUrl, ada, "CI deploys");
  const expire = (interval: string) =>
    database.query(
      `update api_keys set expires_at = clock_timestamp() + $1::interval,
        created_at = clock_timestamp() - interval '10 days' where name = 'CI deploys'`,
      [interval],
    );
  expect(id).toMatch(/^key_/);
  await expire("8 days");
  await findNotices();
  expect(await listNotices(ada, "key-expires-in-7-days")).toEqual([]);
  await expire("6 days 23 hours");
  await expectOneNotice(ada, "key-expires-in-7-days", "API key “CI deploys” expires within 7 days");
  await expire("23 hours");
  await expectOneNotice(ada, "key-expires-in-1-day", "API key “CI deploys” expires within 1 day");
  await createKey(node.baseUrl, ada, "Short");
  await database.query(
    "update api_keys set expires_at = clock_timestamp() + interval '12 hours' where name = 'Short'",
  );
  await findNotices();
  expect(await listNotices(ada, "key-expires-in-1-day")).toHaveLength(1);
});

test("an old secret that is used after its overlap creates a notice", async () => {
  const { id, key } = await createKey(node.baseUrl, ada, "Rotated");
  expect((await callOpen(node.baseUrl, key)).status).toBe(200);
  await call(ada, "apiKeys.rotate", { id, overlapSeconds: 0 });
  expect((await callOpen(node.baseUrl, key)).status).toBe(403);
  expect((await callOpen(node.baseUrl, key)).status).toBe(403);
  await eventually("the rejection is recorded", async () => {
    const { rows } = await database.query("select from retired_secrets where refused_at is not null");
    return rows.length === 1;
  });
  await expectOneNotice(ada, "former-secret-used", "Old secret of “Rotated” used");
});

test("a key that is used from a second network creates a notice; another IP address of a network doesn't", async () => {
  const { key } = await createKey(node.baseUrl, ada, "Traveling");
  const use = async (address: string, networks: number) => {
    const headers = { Authorization: `Bearer ${key}`, "X-Forwarded-For": address };
    expect((await fetch(`${node.baseUrl}/open/global/config`, { headers })).status).toBe(200);
    await eventually("the address is recorded", async () => {
      const { rows } = await database.query(
        `select from key_networks join key_addresses using (key_id) join api_keys on id = key_id
        where name = 'Traveling' and address = $1`,
        [address],
      );
      return rows.length === networks;
    });
    await findNotices();
  };
  const kind = "new-network";
  await use("203.0.113.7", 1);
  await use("203.0.113.8", 1);
  expect(await listNotices(ada, kind)).toEqual([]);
  await use("2001:db8:1:2::3", 2);
  await use("2001:db8:1:9::3", 2);
  await expectOneNotice(ada, kind, "API key “Traveling” used from a new network");
});

test("a sign-in from a new device creates a notice", async () => {
  const signIn = async (userAgent: string) => {
    const response = await fetch(`${node.baseUrl}/trpc/session.signIn`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "User-Agent": userAgent },
      body: JSON.stringify({ email: grace.email, password: grace.password }),
    });
    expect(response.status).toBe(200);
  };
  const chrome = (version: number) =>
    `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/${version}.0.0.0 Safari/537.36`;
  expect(await listNotices(grace, "new-device")).toEqual([]); // The sign-up was from another device.
  await signIn(chrome(140));
  await signIn(chrome(141));
  await expectOneNotice(grace, "new-device", "Sign-in from a new device");
});

test("kinds are turned off in the app and by email", async () => {
  const change = (input: object) => call(grace, "notices.changeSetting", { kind: "role-changed", ...input });
  const { userId } = await getMembership(node.baseUrl, grace);
  const changeTo = async (role: string) => {
    await changeRole(userId, role);
    await waitForJobs();
  };
  const [known] = await listNotices(grace, "role-changed");
  const mails = () => mailsAbout(known?.title ?? "").length;
  const before = mails();
  await change({ byEmail: false });
  await changeTo("viewer");
  expect(mails()).toBe(before);
  expect(await listNotices(grace, "role-changed")).toHaveLength(2);
  await change({ inApp: false, byEmail: true });
  await changeTo("member");
  expect(mails()).toBe(before + 1);
  expect(await listNotices(grace, "role-changed")).toHaveLength(2);
  await change({ inApp: true });
});

test("an email that a user turned off while it was due is not sent", async () => {
  const { userId } = await getMembership(node.baseUrl, grace);
  const [known] = await listNotices(grace, "role-changed");
  const before = mailsAbout(known?.title ?? "").length;
  mailbox.rejectNext(1_000);
  await changeRole(userId, "viewer");
  await eventually("an attempt has failed", async () => {
    const { rows } = await database.query("select from graphile_worker.jobs where last_error is not null");
    return rows.length === 1;
  });
  await call(grace, "notices.changeSetting", { kind: "role-changed", byEmail: false });
  mailbox.rejectNext(0);
  await waitForJobs();
  expect(mailsAbout(known?.title ?? "")).toHaveLength(before);
});

test("notices are marked as read, one and all, by their user only", async () => {
  const read = async (path: string, { cookie }: Account) =>
    (await callProcedure(node.baseUrl, { path, kind: "query", cookie })).data;
  const { data } = await callProcedure(node.baseUrl, {
    path: "notices.list",
    kind: "query",
    input: { isUnread: true },
    cookie: ada.cookie,
  });
  const { items } = data as { items: { id: string }[] }; // The router's response.
  const unread = items.length;
  expect(await read("notices.unreadCount", ada)).toBe(unread);
  const id = items[0]?.id;
  const foreign = {
    path: "notices.markRead",
    kind: "mutation",
    input: { id },
    cookie: grace.cookie,
  } as const;
  expect((await callProcedure(node.baseUrl, foreign)).code).toBe("NOT_FOUND");
  await call(ada, "notices.markRead", { id });
  expect(await read("notices.unreadCount", ada)).toBe(unread - 1);
  await callProcedure(node.baseUrl, {
    path: "notices.markAllRead",
    kind: "mutation",
    input: {},
    cookie: ada.cookie,
  });
  expect(await read("notices.unreadCount", ada)).toBe(0);
  expect(await read("notices.unreadCount", grace)).toBeGreaterThan(0);
});
