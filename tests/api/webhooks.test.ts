import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callProcedure, signUp } from "../support/account.ts";
import { getMembership } from "../support/membership.ts";
import { eventually } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { TestInstance } from "../support/test-instance.ts";

// Nodes send the audit events of a workspace to its webhooks, by jobs.

interface Message {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let receiver: Server;
let instance: TestInstance;
const messages: Message[] = [];
/** How many of the next messages the receiver rejects. */
let rejections = 0;

beforeAll(async () => {
  receiver = createServer(async (req, res) => {
    messages.push({ headers: req.headers, body: (await buffer(req)).toString("utf8") });
    const isRejected = rejections > 0;
    if (isRejected) rejections -= 1;
    res.writeHead(isRejected ? 503 : 204).end();
  });
  await new Promise<void>((resolve) => {
    receiver.listen(0, "127.0.0.1", resolve);
  });
  instance = await createPreparedInstance({ WEBHOOK_NETWORKS: "127.0.0.0/8" });
});
afterAll(async () => {
  await instance?.close();
  receiver?.closeAllConnections();
  await new Promise((resolve) => receiver.close(resolve));
});

test("a message is retried, sent by one of two nodes, and verified with the secret", async () => {
  const [node, other] = [await instance.start(), await instance.start()];
  const account = await signUp(node.baseUrl);
  const { cookie } = account;
  const { workspaceId } = await getMembership(node.baseUrl, account);
  const call = async (path: string, input: object) => {
    const reply = await callProcedure(node.baseUrl, { path, kind: "mutation", cookie, input });
    expect(reply.status).toBe(200);
    return reply.data as Record<string, unknown>; // The router's response.
  };
  const { port } = receiver.address() as AddressInfo; // It listens on a port.
  const created = await call("webhooks.create", {
    workspaceId,
    url: `http://127.0.0.1:${port}`,
    actions: ["workspace.renamed"],
  });
  rejections = 2;
  await call("workspaces.update", { workspaceId, version: 1, name: "Renamed" });
  await eventually("the message was accepted", async () => messages.length === 3, 60_000);
  expect(new Set(messages.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  for (const { headers, body } of messages) {
    const verified = new Webhook(String(created.secret)).verify(body, headers as Record<string, string>); // Node lists these headers as strings.
    expect(verified).toMatchObject({ type: "workspace.renamed", data: { after: { name: "Renamed" } } });
  }
  for (const { output } of [node, other]) expect(output()).not.toContain("deliver-to-webhook failed");

  // A slow webhook doesn't delay another one.
  const silent = createServer(() => undefined);
  await new Promise<void>((resolve) => {
    silent.listen(0, "127.0.0.1", resolve);
  });
  const silentPort = (silent.address() as AddressInfo).port; // It listens on a port.
  await call("webhooks.create", {
    workspaceId,
    url: `http://127.0.0.1:${silentPort}`,
    actions: ["workspace.renamed"],
  });
  messages.length = 0;
  for (let version = 2; version <= 40; version += 1) {
    await call("workspaces.update", { workspaceId, version, name: `Name ${version}` });
  }
  // Each attempt at the silent server takes ten seconds; one worker runs 20 jobs at a time.
  await eventually("all messages were accepted", async () => messages.length === 39, 60_000);
  silent.closeAllConnections();
  silent.close();
});
