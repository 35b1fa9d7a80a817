import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Account, signUp } from "../support/account.ts";
import { open } from "../support/inspection.ts";
import { type Mailbox, startMailbox } from "../support/mailbox.ts";
import { connectionTo, eventually } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { ProductNode } from "../support/product.ts";
import type { TestInstance } from "../support/test-instance.ts";

// An instance whose SMTP server is removed and configured again.

let mailbox: Mailbox;
let instance: TestInstance;
let database: pg.Client;
let node: ProductNode;
let ada: Account;

beforeAll(async () => {
  mailbox = await startMailbox();
  instance = await createPreparedInstance();
  await startNode({ SMTP_URL: mailbox.url });
  ada = await signUp(node.baseUrl, "ada@example.com");
});
afterAll(async () => {
  await database?.end();
  await instance?.close();
  await mailbox?.stop();
});

/** Stops the node, and starts one with other variables. */
async function startNode(variables: Record<string, string>): Promise<void> {
  await database?.end();
  await node?.stop();
  node = await instance.start(variables);
  database = await open(await connectionTo(instance.cluster));
}

/** The jobs that send email. */
async function listMailJobs(): Promise<object[]> {
  const { rows } = await database.query(
    "select task_identifier, last_error from graphile_worker.jobs where task_identifier like 'send-%'",
  );
  return rows;
}

/** Only verified email addresses get notices by email. */
async function verifyEmail(): Promise<void> {
  await database.query("update users set email_verified = true");
}

async function signInFrom(browser: string): Promise<void> {
  const response = await fetch(`${node.baseUrl}/trpc/session.signIn`, {
    method: "POST",
    headers: {
      "Content-Type": "application/json",
      "User-Agent": `Mozilla/5.0 (X11; Linux x86_64) ${browser}`,
    },
    body: JSON.stringify({ email: ada.email, password: ada.password }),
  });
  expect(response.status).toBe(200);
}

test("without an SMTP server, no job is added, and no old email is sent when there is one again", async () => {
  await mailbox.receive(ada.email);
  await verifyEmail();
  mailbox.rejectNext(1_000);
  await signInFrom("Firefox/140.0");
  await eventually("an attempt has failed", async () =>
    JSON.stringify(await listMailJobs()).includes("send-notices failed"),
  );

  await startNode({});
  expect(await listMailJobs()).toEqual([]);
  await signInFrom("Chrome/140.0.0.0 Safari/537.36");
  const changed = await instance.command(["user", "email", ada.email, "--email", "lovelace@example.com"]);
  expect(changed).toMatchObject({ status: 0 });
  ada = { ...ada, email: "lovelace@example.com" };
  await verifyEmail();
  expect(await listMailJobs()).toEqual([]);

  mailbox.rejectNext(0);
  await startNode({ SMTP_URL: mailbox.url });
  await signInFrom("Edg/140.0.0.0 Chrome/140.0.0.0 Safari/537.36");
  const mail = await mailbox.receive(ada.email);
  expect(mail.subject).toBe("Sign-in from a new device");
  await eventually("all jobs have ended", async () => (await listMailJobs()).length === 0);
  expect(mailbox.mails).toHaveLength(2);
});
