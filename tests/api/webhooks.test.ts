import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callProcedure, signUp } from "../support/account.ts";
import { getMembership } from "../support/membership.ts";
import { eventually } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { ProductNode } from "../support/product.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { startWebhookReceiver, type WebhookReceiver } from "../support/webhook-receiver.ts";

// Two nodes send the audit events of a workspace to its webhooks, by jobs.

let receiver: WebhookReceiver;
let silent: WebhookReceiver;
let instance: TestInstance;
let nodes: readonly [ProductNode, ProductNode];
let workspaceId: string;
let call: (path: string, input: object) => Promise<Record<string, unknown>>;

beforeAll(async () => {
  receiver = await startWebhookReceiver();
  silent = await startWebhookReceiver({ isSilent: true });
  instance = await createPreparedInstance({ WEBHOOK_NETWORKS: "127.0.0.0/8" });
  nodes = [await instance.start(), await instance.start()];
  const [{ baseUrl }] = nodes;
  const account = await signUp(baseUrl);
  ({ workspaceId } = await getMembership(baseUrl, account));
  call = async (path, input) => {
    const { cookie } = account;
    const request = { path, kind: "mutation", cookie, input: { workspaceId, ...input } } as const;
    const { status, data } = await callProcedure(baseUrl, request);
    expect(status).toBe(200);
    return data as Record<string, unknown>; // The router's response.
  };
});
afterAll(async () => {
  await instance?.close();
  await receiver?.stop();
  await silent?.stop();
});

const actions = ["workspace.renamed"];

test("a message is retried, sent by one of two nodes, and verified with the secret", async () => {
  const created = await call("webhooks.create", { url: receiver.url, actions });
  receiver.rejectNext(2);
  await call("workspaces.update", { version: 1, name: "Renamed" });
  await eventually("the message was accepted", async () => receiver.messages.length === 3);
  expect(new Set(receiver.messages.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  for (const { headers, body } of receiver.messages) {
    const verified = new Webhook(String(created.secret)).verify(body, headers as Record<string, string>); // Node lists these headers as strings.
    expect(verified).toMatchObject({ type: "workspace.renamed", data: { after: { name: "Renamed" } } });
  }
  // The workspace sees failures; the operator's log would be flooded by them.
  for (const { output } of nodes) expect(output()).not.toContain("deliver-to-webhook failed");
});

test("a server that never responds delays only its own messages", async () => {
  await call("webhooks.create", { url: silent.url, actions });
  receiver.messages.length = 0;
  const renames = 39;
  for (let version = 2; version < 2 + renames; version += 1) {
    await call("workspaces.update", { version, name: `Name ${version}` });
  }
  // Two nodes send 40 messages at a time. If the silent server took a slot for each of its messages, which end after ten
  // seconds, it would take all of them.
  await eventually(
    "all messages were accepted",
    async () => receiver.messages.length === renames && silent.messages.length > 0,
  );
  expect(silent.messages.length).toBeLessThan(renames);
});
