// Slow receivers of webhooks delay only each other: not the messages of other workspaces, and no notices.
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createIpMatcher } from "@latchkey/auth/ip-ranges";
import type { JobWorker } from "@latchkey/db/job-worker";
import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, test, vi } from "vitest";
import { startBackgroundJobs } from "../src/background-jobs.ts";
import { slowAttemptMs } from "../src/domain/webhook-deliveries.ts";
import { createMessageSender } from "../src/webhooks/message-sender.ts";
import { addPerson, addTeam, type Team } from "./team.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

const [fastDeliveries, slowDeliveries] = [3, 2];

let app: TestApp;
let receiver: Server;
let receiverUrl: string;
/** What the receiver does with messages to `/slow`: answers late, rejects late, or doesn't answer. */
let slowBehavior: "answer" | "reject" | "hold";
/** The paths of messages in the order in which they arrived. */
const received: string[] = [];
const held: ServerResponse[] = [];
const onFailure = vi.fn();
let workers: readonly JobWorker[];

beforeAll(async () => {
  app = await startTestApp({ allowsPlainWebhooks: true });
  receiver = createServer((req, res) => {
    const path = req.url ?? "";
    received.push(path);
    if (path === "/fast") res.writeHead(204).end();
    else if (slowBehavior === "hold") held.push(res);
    else {
      const status = slowBehavior === "answer" ? 204 : 503;
      setTimeout(() => res.writeHead(status).end(), slowAttemptMs + 50);
    }
  });
  await new Promise<void>((resolve) => {
    receiver.listen(0, "127.0.0.1", resolve);
  });
  receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`; // It listens on a port.
});
afterAll(async () => {
  receiver.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
  await app.close();
});
beforeEach(() => {
  received.length = 0;
  const { db, webhookSecrets: secrets } = app.services;
  // No message times out while the receiver holds it.
  const send = createMessageSender({
    isAllowedAddress: createIpMatcher(["127.0.0.0/8"]),
    timeoutMs: 300_000,
  });
  const connection = { ...inject("postgres"), database: app.database };
  workers = startBackgroundJobs({
    ...{ connection, db, secrets, send, onFailure },
    ...{ fastDeliveries, slowDeliveries },
  });
});
afterEach(async () => {
  for (const response of held.splice(0)) response.writeHead(204).end();
  for (const worker of workers) await worker.close();
  await sql`delete from graphile_worker._private_jobs`.execute(app.owner);
  expect(onFailure).not.toHaveBeenCalled();
});

async function addWebhooks({ id: workspaceId, owner }: Team, path: "/fast" | "/slow", count: number) {
  for (let number = 0; number < count; number += 1) {
    const webhook = { workspaceId, url: `${receiverUrl}${path}`, actions: ["workspace.renamed" as const] };
    await owner.client.webhooks.create.mutate(webhook);
  }
}

async function rename({ id: workspaceId, owner }: Team, version: number) {
  await owner.client.workspaces.update.mutate({ workspaceId, version, name: `Name ${version}` });
}

async function readDeliveries({ scope }: Team) {
  const { rows } = await sql<{ id: string; status: string; attempt_count: number }>`
    select id, status, attempt_count from webhook_deliveries where workspace_id = ${scope.workspaceId}`.execute(
    app.owner,
  );
  return rows;
}

test("webhooks that were slow use a bounded number of places, and delay no message to others", async () => {
  const [slow, fast] = [await addTeam(app), await addTeam(app)];
  await addWebhooks(slow, "/slow", 5);
  await addWebhooks(fast, "/fast", 1);
  slowBehavior = "answer";
  await rename(slow, 1);
  await expect
    .poll(async () => (await readDeliveries(slow)).filter(({ status }) => status === "succeeded"))
    .toHaveLength(5);
  slowBehavior = "hold";
  received.length = 0;
  await rename(slow, 2);
  await rename(slow, 3);
  await expect.poll(() => held).toHaveLength(slowDeliveries);
  await rename(fast, 1);
  await rename(fast, 2);
  await expect.poll(() => received).toEqual(["/slow", "/slow", "/fast", "/fast"]);
});

test("a message that fails slowly is sent again among those of slow webhooks, with the pauses of its earlier attempts", async () => {
  const slow = await addTeam(app);
  await addWebhooks(slow, "/slow", 1);
  slowBehavior = "reject";
  await rename(slow, 1);
  await expect
    .poll(async () => {
      const { rows } = await sql`
        select task_identifier as task, attempts, locked_at is not null as is_running
        from graphile_worker.jobs`.execute(app.owner);
      return [rows, (await readDeliveries(slow)).map(({ attempt_count }) => attempt_count)];
    })
    .toEqual([[{ task: "deliver-to-slow-webhook", attempts: 2, is_running: false }], [2]]);
});

test("notices are created while receivers hold all messages", async () => {
  const team = await addTeam(app);
  await addWebhooks(team, "/slow", fastDeliveries);
  slowBehavior = "hold";
  await rename(team, 1);
  await expect.poll(() => held).toHaveLength(fastDeliveries);
  const { userId, client } = await addPerson(app);
  const { email } = await app.owner
    .updateTable("users")
    .set({ email_verified: true })
    .where("id", "=", userId)
    .returning("email")
    .executeTakeFirstOrThrow();
  await team.owner.client.invitations.create.mutate({ workspaceId: team.id, email, role: "member" });
  await expect.poll(() => client.notices.unreadCount.query()).toBeGreaterThan(0);
  const { items } = await client.notices.list.query({ isUnread: true });
  expect(items.map(({ kind }) => kind)).toContain("invitation");
});
