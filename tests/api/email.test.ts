import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callProcedure, signUp } from "../support/account.ts";
import { open } from "../support/inspection.ts";
import { type Mailbox, startMailbox } from "../support/mailbox.ts";
import { getMembership } from "../support/membership.ts";
import { connectionTo, eventually } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { TestInstance } from "../support/test-instance.ts";

// Email is sent by jobs of the queue, on nodes with SMTP_URL, and never from inside a request.

let mailbox: Mailbox;
let instance: TestInstance;
let database: pg.Client;
let baseUrl: string;
let node: Awaited<ReturnType<TestInstance["start"]>>;

beforeAll(async () => {
  mailbox = await startMailbox();
  instance = await createPreparedInstance({ SMTP_URL: mailbox.url });
  node = await instance.start();
  ({ baseUrl } = node);
  database = await open(await connectionTo(instance.cluster));
});
afterAll(async () => {
  await database?.end();
  await instance?.close();
  await mailbox?.stop();
});

const requestLink = (email: string) =>
  callProcedure(baseUrl, { path: "session.requestResetLink", kind: "mutation", input: { email } });

async function countJobs(): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    "select count(*)::int as count from graphile_worker.jobs",
  );
  return rows[0]?.count ?? -1;
}

test("an email that the server rejects temporarily is sent again, and delivered once", async () => {
  const { email } = await signUp(baseUrl);
  expect(await mailbox.receive(email)).toMatchObject({ subject: "Verify your email address" });
  mailbox.rejectNext(2);
  expect(await requestLink(email)).toMatchObject({ status: 200, data: null });
  const mail = await mailbox.receive(email, 1);
  expect(mail).toMatchObject({ from: "latchkey@127.0.0.1", subject: "Choose a new password" });
  await eventually("the job has ended", async () => (await countJobs()) === 0);
  const isReset = ({ subject }: { readonly subject: string }) => subject === mail.subject;
  expect(mailbox.mails.filter(isReset)).toHaveLength(1);
  // Of the three links that were created, only the one in the mail is valid. So a receiver must not discard it.
  expect(new Set(mailbox.attempts.filter(isReset).map(({ messageId }) => messageId)).size).toBe(3);
  const token = /#(.+)$/m.exec(mail.text)?.[1];
  const input = { token };
  const preview = await callProcedure(baseUrl, { path: "session.resetAccount", kind: "mutation", input });
  expect(preview).toMatchObject({ status: 200, data: { email, removesAccess: true } });
  const { rows } = await database.query("select from verifications where identifier like 'password-reset:%'");
  expect(rows).toHaveLength(1);
});

test("an email address without an account gets the same response and no email, and no log has email addresses", async () => {
  const email = "nobody@example.com";
  expect(await requestLink(email)).toMatchObject({ status: 200, data: null });
  await eventually("the job has ended", async () => (await countJobs()) === 0);
  expect(mailbox.mails.map(({ to }) => to)).not.toContain(email);
  expect(node.output()).toContain("send-reset-link failed"); // The rejections above.
  expect(node.output()).not.toContain("@example.com");
});

test("an email address gets five links, then one every 15 minutes, with the same response", async () => {
  const { email } = await signUp(baseUrl, "many@example.com");
  for (let count = 0; count < 7; count += 1) {
    expect(await requestLink(email)).toMatchObject({ status: 200, data: null });
    // Waits for each job, because a job replaces one for the same address that hasn't started yet.
    await eventually("the job has ended", async () => (await countJobs()) === 0);
  }
  const reset = "Choose a new password";
  expect(mailbox.mails.filter(({ to, subject }) => to === email && subject === reset)).toHaveLength(5);
});

test("a network gets 20 links, then 429 with Retry-After", async () => {
  await database.query("truncate throttle_buckets");
  for (let count = 0; count < 20; count += 1) {
    expect((await requestLink(`somebody-${count}@example.com`)).status).toBe(200);
  }
  const response = await fetch(`${baseUrl}/trpc/session.requestResetLink`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ email: "somebody@example.com" }),
  });
  expect(response.status).toBe(429);
  expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
});

test("a job holds no token, survives kill -9 of the node, and runs on another one", async () => {
  const inviter = await signUp(baseUrl, "inviter@example.com");
  const { workspaceId } = await getMembership(baseUrl, inviter);
  await mailbox.receive(inviter.email);
  mailbox.rejectNext(1_000);
  const created = await callProcedure(baseUrl, {
    path: "invitations.create",
    kind: "mutation",
    input: { workspaceId, email: "grace@example.com", role: "member" },
    cookie: inviter.cookie,
  });
  expect(created).toMatchObject({ status: 200, data: { delivery: "email", secretStatus: "omitted" } });
  expect(created.data).not.toHaveProperty("url");
  await eventually("the first attempt has failed", async () => {
    const { rows } = await database.query(
      "select from graphile_worker.jobs where last_error = 'send-invitation failed'",
    );
    return rows.length === 1;
  });
  await node.stop("SIGKILL");
  const { rows } = await database.query<{ payload: object }>(
    "select payload from graphile_worker._private_jobs where last_error is not null",
  );
  expect(Object.keys(rows[0]?.payload ?? {}).sort()).toEqual(["invitationId", "workspaceId"]);
  mailbox.rejectNext(0);
  node = await instance.start();
  ({ baseUrl } = node);
  const { text } = await mailbox.receive("grace@example.com");
  expect(text).toContain(`${baseUrl}/invitation#`);
});
