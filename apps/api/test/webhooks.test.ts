// Webhooks of a workspace: settings, deliveries and their log, against a receiver on a loopback port.
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { createIpMatcher } from "@latchkey/auth/ip-ranges";
import { openAsOperator } from "@latchkey/auth/workspace-access";
import { type DeliveryId, decodeId, encodeId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { countWaiting } from "@latchkey/db/testing/count-waiting";
import { deleteOldDeliveries } from "@latchkey/db/webhook-deliveries";
import { inWorkspace } from "@latchkey/db/workspace-scope";
import { sql } from "kysely";
import { Webhook } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { createMessageSender } from "../src/webhooks/message-sender.ts";
import { createWebhookTasks, DeliveryFailedError } from "../src/webhooks/webhook-tasks.ts";
import { createOpenClient, type OpenReply } from "./open-client.ts";
import { holdLocks } from "./table-locks.ts";
import { join } from "./team.ts";
import { startTestApp, type TestApp } from "./test-app.ts";

interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let app: TestApp;
let receiver: Server;
let receiverUrl: string;
const received: Received[] = [];
/** The status of the receiver's next responses. */
let responseStatus = 200;

beforeAll(async () => {
  app = await startTestApp({ allowsPlainWebhooks: true, quotas: { webhooksPerWorkspace: 3 } });
  receiver = createServer(async (req, res) => {
    received.push({
      path: req.url ?? "",
      headers: req.headers,
      body: (await buffer(req)).toString("utf8"),
    });
    if (responseStatus === 302) res.setHeader("location", `${receiverUrl}/elsewhere`);
    res.writeHead(responseStatus).end("ignored");
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
  responseStatus = 200;
});

afterEach(() => void vi.useRealTimers());

const { send } = createOpenClient(() => app);

interface Team {
  readonly workspaceId: WorkspaceId;
  readonly userId: UserId;
  readonly path: string;
  readonly send: (
    request: readonly [method: string, path: string],
    body?: object,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<OpenReply>;
  /** Makes every attempt that is pending. */
  readonly deliver: (sendOptions?: Partial<Parameters<typeof createMessageSender>[0]>) => Promise<void>;
}

async function addTeam(): Promise<Team> {
  const { userId, secret } = await app.addKey();
  const { body } = await send(secret, ["POST", "/workspaces"], { name: "Team" });
  const workspaceId = decodeId("workspace", String(body.id)) as WorkspaceId; // The API has just created it.
  const path = `/workspaces/${body.id}`;
  return {
    workspaceId,
    userId,
    path,
    send: ([method, subpath], ...rest) => send(secret, [method, `${path}${subpath}`], ...rest),
    async deliver(sendOptions = {}) {
      const { db, webhookSecrets: secrets } = app.services;
      const isAllowedAddress = createIpMatcher(["127.0.0.0/8"]);
      const tasks = createWebhookTasks({
        db,
        secrets,
        send: createMessageSender({ isAllowedAddress, ...sendOptions }),
      });
      const { rows } = await sql<{ id: DeliveryId }>`
        select id from webhook_deliveries where workspace_id = ${workspaceId} and status = 'pending'
        order by created_at`.execute(app.owner);
      for (const { id: deliveryId } of rows) {
        await tasks["deliver-to-webhook"]({ workspaceId, deliveryId }, "1").catch((error: unknown) => {
          if (!(error instanceof DeliveryFailedError)) throw error;
        });
      }
    },
  };
}

/** Adds a webhook that gets one kind of event, by default the one of {@link rename}. */
async function addWebhook(team: Team, fields: object = { actions: ["workspace.renamed"] }) {
  const settings = { url: `${receiverUrl}/hook`, ...fields };
  const { status, body, etag } = await team.send(["POST", "/webhooks"], settings);
  expect(status).toBe(201);
  return { id: String(body.id), secret: String(body.secret), path: `/webhooks/${body.id}`, etag };
}

const rename = (team: Team, name = "Renamed") => team.send(["PATCH", ""], { name });

async function listDeliveries(team: Team, path: string, query = "") {
  const { body } = await team.send(["GET", `${path}/deliveries${query}`]);
  return body.data ?? [];
}

describe("a message", () => {
  test("is the audit event, and is signed by Standard Webhooks", async () => {
    const team = await addTeam();
    const { secret, path } = await addWebhook(team);
    await rename(team, "Payments");
    await team.deliver();
    const [message] = received;
    expect(received).toHaveLength(1);
    expect(message?.path).toBe("/hook");
    expect(message?.headers["content-type"]).toBe("application/json");
    const verified = new Webhook(secret).verify(
      message?.body ?? "",
      message?.headers as Record<string, string>,
    ); // Node lists these headers as strings.
    const { body: events } = await team.send(["GET", "/audit-events?action=workspace.renamed"]);
    const [event] = events.data ?? [];
    expect(verified).toEqual({
      type: "workspace.renamed",
      timestamp: event?.occurredAt,
      data: { workspaceId: team.path.slice("/workspaces/".length), ...event },
    });
    expect(message?.headers["webhook-id"]).toBe(event?.id);
    expect(await listDeliveries(team, path)).toEqual([
      expect.objectContaining({
        action: "workspace.renamed",
        eventId: event?.id,
        status: "succeeded",
        attempts: [expect.objectContaining({ status: 200, error: null })],
        nextAttemptAt: null,
      }),
    ]);
  });

  test("of a key's change is sent by each workspace that the key can reach", async () => {
    const team = await addTeam();
    await addWebhook(team, { actions: ["key.created"] });
    await app.addKey(team.userId);
    await team.deliver();
    const owner = { id: encodeId("user", team.userId), kind: "person" };
    expect(received.map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([
      { type: "key.created", data: { target: { kind: "key", owner } } },
    ]);
  });

  test("is sent only for the selected actions, or for all of them", async () => {
    const team = await addTeam();
    await addWebhook(team, { actions: ["member.removed"] });
    await rename(team);
    await team.deliver();
    expect(received).toEqual([]);
    await addWebhook(team, { actions: null });
    await rename(team, "Again");
    await team.deliver();
    expect(received.map(({ body }) => (JSON.parse(body) as { type: string }).type)).toEqual([
      "webhook.created",
      "workspace.renamed",
    ]);
  });

  test("of another workspace is not sent", async () => {
    const [team, other] = [await addTeam(), await addTeam()];
    await addWebhook(team);
    await rename(other);
    await Promise.all([team.deliver(), other.deliver()]);
    expect(received).toEqual([]);
  });

  test("of a change that was rolled back is not sent", async () => {
    const team = await addTeam();
    const { path } = await addWebhook(team);
    await team.send(["PATCH", ""], { name: "x" }, { "If-Match": '"99"' });
    expect(await listDeliveries(team, path)).toEqual([]);
  });
});

test.each([-1, 1])("an attempt has the database's time if the node's differs by %d hours", async (hours) => {
  const team = await addTeam();
  const { path } = await addWebhook(team);
  await rename(team);
  const startedAt = await readDatabaseTime();
  const nodeTime = Date.now() + hours * 3_600_000;
  vi.useFakeTimers({ toFake: ["Date"], now: nodeTime });
  await team.deliver();
  vi.useRealTimers();
  const endedAt = await readDatabaseTime();
  const at = await readAttemptTime(team, path);
  // Both are truncated to milliseconds.
  expect(at).toBeGreaterThanOrEqual(startedAt - 1);
  expect(at).toBeLessThanOrEqual(endedAt);
  // The receiver compares this header with its own clock.
  expect(Number(received[0]?.headers["webhook-timestamp"])).toBe(Math.floor(nodeTime / 1_000));
});

test("the time of an attempt doesn't depend on how long it waits to be recorded", async () => {
  const team = await addTeam();
  const { path } = await addWebhook(team);
  await rename(team);
  const startedAt = await readDatabaseTime();
  const release = await holdLocks(app.database, "select from workspaces where id = $1 for update", [
    team.workspaceId,
  ]);
  const delivered = team.deliver();
  await expect.poll(() => countWaiting(app.owner)).toBe(1);
  const waitingSince = await readDatabaseTime();
  await sql`select pg_sleep(2)`.execute(app.owner);
  await release();
  await delivered;
  const at = await readAttemptTime(team, path);
  expect(at).toBeGreaterThanOrEqual(startedAt - 1);
  // Late by the time that the statement that records it takes to reach Postgres.
  expect(at).toBeLessThan(waitingSince + 1_000);
});

async function readDatabaseTime(): Promise<number> {
  const { rows } = await sql<{ now: Date }>`select clock_timestamp() as now`.execute(app.owner);
  return rows[0]?.now.getTime() ?? Number.NaN;
}

/** Returns when the only attempt of the only delivery to a webhook began, in milliseconds since the epoch. */
async function readAttemptTime(team: Team, path: string): Promise<number> {
  const [delivery] = await listDeliveries(team, path);
  const attempts = delivery?.attempts as { at: string }[]; // The schema of the response was checked.
  expect(attempts).toHaveLength(1);
  return Date.parse(attempts[0]?.at ?? "");
}

describe("a failed attempt", () => {
  test("is retried with exponential backoff, 14 times in about 28 hours, and then fails", async () => {
    const team = await addTeam();
    const { path } = await addWebhook(team);
    responseStatus = 500;
    await rename(team);
    const pauses: number[] = [];
    for (let attempt = 1; attempt <= 14; attempt += 1) {
      await team.deliver();
      const [delivery] = await listDeliveries(team, path);
      if (typeof delivery?.nextAttemptAt !== "string") break;
      const attempts = delivery.attempts as { at: string }[]; // The schema of the response was checked.
      pauses.push(
        Math.round((Date.parse(delivery.nextAttemptAt) - Date.parse(attempts.at(-1)?.at ?? "")) / 1_000),
      );
    }
    expect(received).toHaveLength(14);
    expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
    expect(pauses).toHaveLength(13);
    pauses.forEach((pause, place) => {
      expect(pause - Math.exp(Math.min(10, place + 1))).toBeLessThan(10);
      expect(pause - Math.exp(Math.min(10, place + 1))).toBeGreaterThan(-2);
    });
    const hours = pauses.reduce((sum, pause) => sum + pause, 0) / 3_600;
    expect(hours).toBeGreaterThan(24);
    expect(await listDeliveries(team, path)).toMatchObject([{ status: "failed", nextAttemptAt: null }]);
    await team.deliver();
    expect(received).toHaveLength(14);
  });

  test("can be repeated by hand, with the same ID", async () => {
    const team = await addTeam();
    const { path } = await addWebhook(team);
    responseStatus = 503;
    await rename(team);
    await team.deliver();
    const [failed] = await listDeliveries(team, path, "?status=pending");
    responseStatus = 204;
    const again = await team.send(["POST", `${path}/deliveries/${failed?.id}/redeliver`]);
    expect(again).toMatchObject({ status: 200, body: { status: "pending" } });
    await team.deliver();
    expect(received.map(({ headers }) => headers["webhook-id"])).toEqual([failed?.eventId, failed?.eventId]);
    expect(await listDeliveries(team, path, "?status=succeeded")).toMatchObject([
      { attempts: [{ status: 503 }, { status: 204 }] },
    ]);
  });

  test("does not follow a redirect", async () => {
    const team = await addTeam();
    const { path } = await addWebhook(team);
    responseStatus = 302;
    await rename(team);
    await team.deliver();
    expect(received.map(({ path: requested }) => requested)).toEqual(["/hook"]);
    expect(await listDeliveries(team, path)).toMatchObject([
      { status: "pending", attempts: [{ status: 302 }] },
    ]);
  });

  test("ends if the server switches protocols", async () => {
    const switching = createServer();
    switching.on("request", ({ socket }) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n");
    });
    await new Promise<void>((resolve) => {
      switching.listen(0, "127.0.0.1", resolve);
    });
    const team = await addTeam();
    const url = `http://127.0.0.1:${(switching.address() as AddressInfo).port}`; // It listens on a port.
    const { path } = await addWebhook(team, { url, actions: ["workspace.renamed"] });
    await rename(team);
    await team.deliver();
    switching.close();
    expect(await listDeliveries(team, path)).toMatchObject([
      { status: "pending", attempts: [{ error: "connection_failed", status: null }] },
    ]);
  });

  test("ends at a deadline", async () => {
    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => {
      silent.listen(0, "127.0.0.1", resolve);
    });
    const team = await addTeam();
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`; // It listens on a port.
    const { path } = await addWebhook(team, { url, actions: ["workspace.renamed"] });
    await rename(team);
    await team.deliver({ timeoutMs: 200 });
    silent.closeAllConnections();
    silent.close();
    expect(await listDeliveries(team, path)).toMatchObject([{ attempts: [{ error: "timeout" }] }]);
    await team.deliver();
    expect(await listDeliveries(team, path)).toMatchObject([
      { attempts: [{ error: "timeout" }, { error: "connection_failed", status: null }] },
    ]);
  });
});

describe("a webhook that fails", () => {
  const shiftFailures = (team: Team, interval: string) =>
    sql`update webhooks set failing_since = failing_since - ${interval}::interval where workspace_id = ${team.workspaceId}`.execute(
      app.owner,
    );

  /** Leaves one attempt to each message. */
  const skipToLastAttempt = (team: Team) =>
    sql`update webhook_deliveries set attempt_count = 13 where workspace_id = ${team.workspaceId}`.execute(
      app.owner,
    );

  /** The events of webhooks that were disabled. */
  const listDisablings = async (team: Team) => {
    const { body } = await team.send(["GET", "/audit-events?action=webhook.disabled"]);
    return body.data;
  };

  test("is disabled when a message has failed after three days without a success, and not before", async () => {
    const team = await addTeam();
    const { path, id } = await addWebhook(team);
    const { path: otherPath } = await addWebhook(team, { actions: ["webhook.disabled"] });
    const { etag } = await team.send(["GET", path]);
    const poll = () => team.send(["GET", path], undefined, { "If-None-Match": etag });
    expect((await poll()).status).toBe(304);
    responseStatus = 500;
    await rename(team);
    await team.deliver();
    expect(await poll()).toMatchObject({
      status: 200,
      body: { failingSince: expect.any(String), version: 1 },
    });
    await shiftFailures(team, "71 hours");
    await team.deliver();
    expect((await team.send(["GET", path])).body).toMatchObject({ isDisabled: false });
    await skipToLastAttempt(team);
    await team.deliver();
    expect(await listDeliveries(team, path)).toMatchObject([{ status: "failed" }]);
    expect((await team.send(["GET", path])).body).toMatchObject({ isDisabled: false });
    await rename(team, "Again");
    await shiftFailures(team, "2 hours");
    await team.deliver();
    expect((await team.send(["GET", path])).body).toMatchObject({ isDisabled: false });
    expect(await listDisablings(team)).toEqual([]);
    await skipToLastAttempt(team);
    await team.deliver();
    expect((await team.send(["GET", path])).body).toMatchObject({
      isDisabled: true,
      disabledReason: "failures",
    });
    expect(await listDisablings(team)).toEqual([
      {
        id: expect.any(String),
        occurredAt: expect.any(String),
        action: "webhook.disabled",
        actor: { kind: "system", userId: null, name: null, userKind: null, keyId: null },
        target: { kind: "webhook", id, name: null, userKind: null, owner: null },
        before: null,
        after: { reason: "failures", host: new URL(receiverUrl).host },
        address: null,
        requestId: null,
      },
    ]);
    // Other webhooks get the event.
    expect(await listDeliveries(team, otherPath)).toMatchObject([{ action: "webhook.disabled" }]);
    await rename(team, "Once more");
    expect(await listDeliveries(team, path)).toHaveLength(2);
    const enabled = await team.send(["PATCH", path], { isDisabled: false });
    expect(enabled.body).toMatchObject({ isDisabled: false, disabledReason: null, failingSince: null });
  });

  test("doesn't deadlock with the deletion of its workspace, which locks the workspace before the webhook", async () => {
    const team = await addTeam();
    await addWebhook(team);
    responseStatus = 410;
    await rename(team);
    const release = await holdLocks(app.database, "select from workspaces where id = $1 for update", [
      team.workspaceId,
    ]);
    const delivered = team.deliver();
    await expect.poll(() => countWaiting(app.owner)).toBe(1);
    // Fails if the delivery has locked the webhook before it waits for the workspace.
    await sql`select from webhooks where workspace_id = ${team.workspaceId} for update nowait`.execute(
      app.owner,
    );
    await release();
    await delivered;
    expect(await listDisablings(team)).toHaveLength(1);
  });

  test("starts counting again after a success", async () => {
    const team = await addTeam();
    const { path } = await addWebhook(team);
    responseStatus = 500;
    await rename(team);
    await team.deliver();
    await shiftFailures(team, "80 hours");
    responseStatus = 200;
    await team.deliver();
    responseStatus = 500;
    await rename(team, "Again");
    await skipToLastAttempt(team);
    await team.deliver();
    expect((await team.send(["GET", path])).body).toMatchObject({ isDisabled: false });
  });

  test("is not failing or slow anymore with another URL, and counts failures again from its first one", async () => {
    const team = await addTeam();
    const { path } = await addWebhook(team);
    const readHealth = () =>
      app.owner
        .selectFrom("webhooks")
        .select(["failing_since", "slow_until"])
        .where("workspace_id", "=", team.workspaceId)
        .executeTakeFirstOrThrow();
    responseStatus = 500;
    await rename(team);
    await team.deliver();
    await shiftFailures(team, "80 hours");
    await sql`update webhooks set slow_until = now() + interval '1 hour'
      where workspace_id = ${team.workspaceId}`.execute(app.owner);
    // The same URL and the same status change nothing.
    await team.send(["PATCH", path], { url: `${receiverUrl}/hook`, isDisabled: false, description: "SIEM" });
    const failing = { failing_since: expect.any(Date), slow_until: expect.any(Date) };
    expect(await readHealth()).toEqual(failing);
    const moved = await team.send(["PATCH", path], { url: `${receiverUrl}/new` });
    expect(moved.body).toMatchObject({ failingSince: null });
    expect(await readHealth()).toEqual({ failing_since: null, slow_until: null });
    await skipToLastAttempt(team);
    await team.deliver();
    expect(received.map(({ path: requested }) => requested)).toEqual(["/hook", "/new"]);
    expect((await team.send(["GET", path])).body).toMatchObject({
      isDisabled: false,
      failingSince: expect.any(String),
    });
  });

  test.each([410, 500, 200])("ignores a response of %d from a URL that was changed since", async (status) => {
    const team = await addTeam();
    const name = receiverUrl.replace("127.0.0.1", "receiver.example");
    const { path } = await addWebhook(team, { url: `${name}/old`, actions: ["workspace.renamed"] });
    await rename(team);
    responseStatus = status;
    const failingSince = status === 200 ? "2026-01-01T00:00:00.000Z" : null;
    await team.deliver({
      // After the message was prepared, and before it is sent.
      resolve: async () => {
        await team.send(["PATCH", path], { url: `${receiverUrl}/new` });
        await sql`update webhooks set failing_since = ${failingSince}
          where workspace_id = ${team.workspaceId}`.execute(app.owner);
        // Makes the attempt slow.
        if (status === 500) await sql`select pg_sleep(1.1)`.execute(app.owner);
        return ["127.0.0.1"];
      },
    });
    expect(received.map(({ path: requested }) => requested)).toEqual(["/old"]);
    expect((await team.send(["GET", path])).body).toMatchObject({ isDisabled: false, failingSince });
    const { rows: slow } = await sql`
      select from webhooks where workspace_id = ${team.workspaceId} and slow_until is not null`.execute(
      app.owner,
    );
    expect(slow).toEqual([]);
    const isDelivered = status === 200;
    expect(await listDeliveries(team, path)).toMatchObject([
      { status: isDelivered ? "succeeded" : "pending", attempts: [{ status }] },
    ]);
    responseStatus = 200;
    await team.deliver();
    expect(received.map(({ path: requested }) => requested)).toEqual(
      isDelivered ? ["/old"] : ["/old", "/new"],
    );
  });

  test("is disabled by a response of 410, and its pending deliveries fail", async () => {
    const team = await addTeam();
    const { path } = await addWebhook(team);
    responseStatus = 410;
    await rename(team, "One");
    await rename(team, "Two");
    await team.deliver();
    expect(received).toHaveLength(1);
    expect((await team.send(["GET", path])).body).toMatchObject({ disabledReason: "gone" });
    expect(await listDisablings(team)).toMatchObject([
      { actor: { kind: "system" }, after: { reason: "gone", host: new URL(receiverUrl).host } },
    ]);
    expect(await listDeliveries(team, path)).toMatchObject([{ status: "failed" }, { status: "failed" }]);
    expect(await team.send(["POST", `${path}/test`])).toMatchObject({ status: 409 });
  });
});

describe("addresses", () => {
  /** Delivers to a host name that resolves to these addresses. */
  async function deliverTo(url: string, addresses: readonly string[], isAllowed = false) {
    const team = await addTeam();
    const { path } = await addWebhook(team, { url, actions: ["workspace.renamed"] });
    await rename(team);
    await team.deliver({
      resolve: async () => addresses,
      isAllowedAddress: createIpMatcher(isAllowed ? ["127.0.0.0/8"] : []),
    });
    const [delivery] = await listDeliveries(team, path);
    const attempts = (delivery?.attempts ?? []) as { error: string | null; status: number | null }[]; // The schema was checked.
    return attempts[0];
  }

  test.each([
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "192.168.1.1",
    "0.0.0.0",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::7f00:1",
    "::808:808",
    "64:ff9b:1::a00:1",
    "4000::1",
    "64:ff9b::a00:1",
    "2002:a00:1::",
    "fc00::1",
    "fe80::1",
    "ff02::1",
  ])("no message is sent to %s", async (address) => {
    expect(await deliverTo("https://internal.example", [address])).toMatchObject({
      error: "address_not_allowed",
      status: null,
    });
  });

  test("no message is sent if one of several addresses is private", async () => {
    expect(await deliverTo("https://internal.example", ["192.0.2.1", "127.0.0.1"])).toMatchObject({
      error: "address_not_allowed",
    });
  });

  test.each([
    "https://127.0.0.1",
    "https://[::1]",
    "https://2130706433",
    "https://0x7f.1",
    "https://[::ffff:7f00:1]",
    "https://[::127.0.0.1]",
  ])("no message is sent to %s, which needs no resolution", async (url) => {
    expect(await deliverTo(url, ["93.184.215.14"])).toMatchObject({ error: "address_not_allowed" });
  });

  test("a message is sent to the address that was checked", async () => {
    const url = receiverUrl.replace("127.0.0.1", "receiver.example");
    expect(await deliverTo(url, ["127.0.0.1"], true)).toMatchObject({ status: 200 });
    expect(received[0]?.headers.host).toBe(url.slice("http://".length));
  });

  test("a public address needs TLS", async () => {
    expect(await deliverTo("http://public.example", ["93.184.215.14"], true)).toMatchObject({
      error: "https_required",
    });
  });

  test("a name without an address fails", async () => {
    expect(await deliverTo("https://nowhere.example", [])).toMatchObject({ error: "name_not_found" });
  });
});

describe("settings", () => {
  test("rotation: both secrets sign during the overlap, and only the new one after it", async () => {
    const team = await addTeam();
    const { secret: former, path } = await addWebhook(team);
    const rotated = await team.send(["POST", `${path}/rotate-secret`], { overlapSeconds: 3_600 });
    expect(rotated.body.formerSecretExpiresAt).toEqual(expect.any(String));
    const current = String(rotated.body.secret);
    expect(current).not.toBe(former);
    const verifiedBy = async () => {
      received.length = 0;
      await team.send(["POST", `${path}/test`]);
      await team.deliver();
      const [message] = received;
      return [former, current].map((secret) => {
        try {
          const headers = message?.headers as Record<string, string>; // Node lists these headers as strings.
          return Boolean(new Webhook(secret).verify(message?.body ?? "", headers));
        } catch {
          return false;
        }
      });
    };
    expect(await verifiedBy()).toEqual([true, true]);
    await sql`update webhooks set former_secret_expires_at = now() where workspace_id = ${team.workspaceId}`.execute(
      app.owner,
    );
    expect(await verifiedBy()).toEqual([false, true]);
    const withoutOverlap = await team.send(["POST", `${path}/rotate-secret`], { overlapSeconds: 0 });
    expect(withoutOverlap.body.formerSecretExpiresAt).toBeNull();
    expect(await verifiedBy()).toEqual([false, false]);
  });

  test("a retry of a creation and of a rotation gets a usable secret, and creates nothing twice", async () => {
    const team = await addTeam();
    const headers = { "Idempotency-Key": crypto.randomUUID() };
    const create = () =>
      team.send(["POST", "/webhooks"], { url: receiverUrl, actions: ["workspace.renamed"] }, headers);
    const [first, retry] = [await create(), await create()];
    expect(retry).toMatchObject({
      status: 201,
      body: { id: first.body.id, secretStatus: "reissued", version: Number(first.body.version) + 1 },
    });
    expect(retry.etag).toBe((await team.send(["GET", `/webhooks/${first.body.id}`])).etag);
    expect(retry.body.secret).not.toBe(first.body.secret);
    expect((await team.send(["GET", "/webhooks"])).body.data).toHaveLength(1);
    await team.send(["POST", `/webhooks/${first.body.id}/test`]);
    await team.deliver();
    const [message] = received;
    expect(
      new Webhook(String(retry.body.secret)).verify(
        message?.body ?? "",
        message?.headers as Record<string, string>,
      ),
    ).toMatchObject({ type: "webhook.test" }); // Node lists these headers as strings.

    const rotate = () =>
      team.send(
        ["POST", `/webhooks/${first.body.id}/rotate-secret`],
        { overlapSeconds: 60 },
        {
          "Idempotency-Key": "rotation",
        },
      );
    const rotations = [await rotate(), await rotate()];
    expect(rotations.map(({ body }) => body.secretStatus)).toEqual(["issued", "reissued"]);
    const { body: current } = await team.send(["GET", `/webhooks/${first.body.id}`]);
    expect(rotations.map(({ body }) => body.version)).toEqual([Number(current.version) - 1, current.version]);
    const { etag } = await team.send(["GET", `/webhooks/${first.body.id}`]);
    expect(rotations.map((rotation) => rotation.etag === etag)).toEqual([false, true]);
    await team.send(["POST", `/webhooks/${first.body.id}/rotate-secret`], { overlapSeconds: 60 });
    const late = await rotate();
    expect(late.body).toMatchObject({ secretStatus: "omitted" });
    expect(late.body.secret).toBeUndefined();
    expect((await create()).body).toMatchObject({ secretStatus: "omitted" });
    const { body: events } = await team.send([
      "GET",
      `/audit-events?sort=occurredAt&limit=100&targetId=${first.body.id}`,
    ]);
    expect((events.data ?? []).map(({ action }) => action)).toEqual([
      "webhook.created",
      "webhook.secret-reissued",
      "webhook.secret-rotated",
      "webhook.secret-reissued",
      "webhook.secret-rotated",
    ]);
  });

  test("a retry of a rotation gets no secret if the current one was sealed with another AUTH_SECRET", async () => {
    const team = await addTeam();
    const { path } = await addWebhook(team);
    const headers = { "Idempotency-Key": "rotation" };
    const rotate = () => team.send(["POST", `${path}/rotate-secret`], { overlapSeconds: 60 }, headers);
    await rotate();
    await sql`update webhooks set secret = sha256(secret) where workspace_id = ${team.workspaceId}`.execute(
      app.owner,
    );
    expect(await rotate()).toMatchObject({ status: 200, body: { secretStatus: "omitted" } });
  });

  test("If-Match rejects an edit, a rotation and a deletion of another version", async () => {
    const team = await addTeam();
    const { path, etag } = await addWebhook(team);
    expect((await team.send(["GET", path])).etag).toBe(etag);
    const ifMatch = { "If-Match": etag };
    const { body: unchanged } = await team.send(["GET", path]);
    for (const edit of [{ url: unchanged.url, actions: unchanged.actions }, { isDisabled: false }])
      expect(await team.send(["PATCH", path], edit, ifMatch)).toMatchObject({ status: 200, etag });
    expect(await team.send(["PATCH", path], { description: "new" }, ifMatch)).toMatchObject({ status: 200 });
    for (const request of [
      team.send(["PATCH", path], { description: "newer" }, ifMatch),
      team.send(["POST", `${path}/rotate-secret`], {}, ifMatch),
      team.send(["DELETE", path], undefined, ifMatch),
    ]) {
      expect((await request).status).toBe(412);
    }
    expect((await team.send(["DELETE", path])).status).toBe(204);
    expect((await team.send(["GET", path])).status).toBe(404);
  });

  test("changes are audit events, without the path of the URL, the query or a secret", async () => {
    const team = await addTeam();
    const { path, secret } = await addWebhook(team, {
      url: `${receiverUrl}/token-in-path?token=in-query`,
      actions: ["key.deleted"],
    });
    await team.send(["PATCH", path], {
      url: `${receiverUrl}/other-token`,
      description: "SIEM",
      actions: null,
    });
    await team.send(["PATCH", path], { isDisabled: true });
    await team.send(["PATCH", path], { isDisabled: true });
    await team.send(["PATCH", path], { isDisabled: false });
    await team.send(["POST", `${path}/rotate-secret`], {});
    await team.send(["DELETE", path]);
    const { body } = await team.send(["GET", "/audit-events?limit=100"]);
    const events = (body.data ?? []).filter(({ action }) => String(action).startsWith("webhook."));
    expect(events.map(({ action }) => action).toSorted()).toEqual(
      [
        "webhook.created",
        "webhook.changed",
        "webhook.disabled",
        "webhook.enabled",
        "webhook.secret-rotated",
        "webhook.deleted",
      ].toSorted(),
    );
    const text = JSON.stringify(events);
    expect(text).toContain(new URL(receiverUrl).host);
    expect(text).not.toContain("token");
    expect(text).not.toContain(secret);
  });

  test("no secret is stored as it is", async () => {
    const team = await addTeam();
    const { secret } = await addWebhook(team);
    const { rows } = await sql<{ text: string }>`
      select webhooks::text as text from webhooks where workspace_id = ${team.workspaceId}`.execute(
      app.owner,
    );
    const bytes = Buffer.from(secret).toString("hex");
    const key = Buffer.from(secret.slice("whsec_".length), "base64").toString("hex");
    expect(rows).toHaveLength(1);
    for (const form of [secret, bytes, key]) expect(rows[0]?.text).not.toContain(form);
  });

  test.each([
    ["no overlap", { overlapSeconds: 0 }],
    ["the default overlap", {}],
  ])(
    "a message whose secret was sealed with another AUTH_SECRET fails, until it is rotated with %s",
    async (_overlap, rotation) => {
      const team = await addTeam();
      const { path } = await addWebhook(team);
      await sql`update webhooks set secret = sha256(secret) where workspace_id = ${team.workspaceId}`.execute(
        app.owner,
      );
      await rename(team);
      await team.deliver();
      expect(await listDeliveries(team, path)).toMatchObject([{ status: "failed", attempts: [] }]);
      const { body } = await team.send(["POST", `${path}/rotate-secret`], rotation);
      await rename(team, "Again");
      await team.deliver();
      const [message] = received;
      expect(received).toHaveLength(1);
      expect(message?.headers["webhook-signature"]).toMatch(/^v1,\S+$/);
      const headers = message?.headers as Record<string, string>; // Node lists these headers as strings.
      expect(new Webhook(String(body.secret)).verify(message?.body ?? "", headers)).toMatchObject({
        type: "workspace.renamed",
      });
    },
  );

  test.each([
    "ftp://example.com",
    "https://user:password@example.com",
    "https://example.com/#part",
    "example.com",
    `https://example.com/${"ä".repeat(1_000)}`,
    `https://example.com/${"x".repeat(2_048)}`,
  ])("the URL %s is rejected", async (url) => {
    const team = await addTeam();
    const { status, body } = await team.send(["POST", "/webhooks"], { url });
    expect({ status, body }).toMatchObject({ status: 400, body: { error: { code: "BAD_REQUEST" } } });
    expect(JSON.stringify(body)).toContain('"path":"url"');
  });

  test("the quota of webhooks holds under concurrent creations", async () => {
    const team = await addTeam();
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => team.send(["POST", "/webhooks"], { url: receiverUrl })),
    );
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(3);
    expect(replies.filter(({ status }) => status === 422)).toHaveLength(5);
  });

  test("a delivery of another webhook or workspace is not found", async () => {
    const [team, other] = [await addTeam(), await addTeam()];
    const [first, second] = [await addWebhook(team), await addWebhook(team)];
    const foreign = await addWebhook(other);
    const { body } = await team.send(["POST", `${first.path}/test`]);
    const redeliver = (to: Team, path: string) =>
      to.send(["POST", `${path}/deliveries/${body.id}/redeliver`]);
    expect((await redeliver(team, second.path)).status).toBe(404);
    expect((await redeliver(other, foreign.path)).status).toBe(404);
    expect((await other.send(["GET", `${first.path}`])).status).toBe(404);
    expect((await redeliver(team, first.path)).status).toBe(200);
  });

  test("deliveries are deleted after 30 days", async () => {
    const team = await addTeam();
    const { path } = await addWebhook(team);
    await rename(team, "One");
    await team.deliver();
    await sql`update webhook_deliveries set created_at = created_at - interval '31 days'
      where workspace_id = ${team.workspaceId}`.execute(app.owner);
    await rename(team, "Two");
    await team.deliver();
    expect(await listDeliveries(team, path)).toHaveLength(1);
  });

  test("a message that is sent again after 30 days is delivered", async () => {
    const team = await addTeam();
    const { path } = await addWebhook(team);
    await rename(team);
    await team.deliver();
    await sql`update webhook_deliveries set created_at = created_at - interval '31 days'
      where workspace_id = ${team.workspaceId}`.execute(app.owner);
    const [delivery] = await listDeliveries(team, path);
    const again = await team.send(["POST", `${path}/deliveries/${delivery?.id}/redeliver`]);
    expect(again).toMatchObject({ status: 200, body: { status: "pending" } });
    await team.deliver();
    expect(received.map(({ headers }) => headers["webhook-id"])).toEqual(Array(2).fill(delivery?.eventId));
    expect(await listDeliveries(team, path)).toMatchObject([{ status: "succeeded" }]);
  });

  test("a pending delivery is deleted only if it has no job", async () => {
    const team = await addTeam();
    const { path } = await addWebhook(team);
    for (const name of ["One", "Two"]) await rename(team, name);
    const [withJob, withoutJob] = await listDeliveries(team, path);
    await sql`
      update webhook_deliveries set created_at = created_at - interval '31 days',
        next_attempt_at = now() - case when id = ${decodeId("delivery", String(withoutJob?.id))} then interval '8 days' else interval '6 days' end
      where workspace_id = ${team.workspaceId}`.execute(app.owner);
    const scope = openAsOperator(team.workspaceId);
    await inWorkspace(app.services.db, scope, (trx) => deleteOldDeliveries(trx, scope));
    expect(await listDeliveries(team, path)).toMatchObject([{ id: withJob?.id }]);
  });

  test("a member can't see or change webhooks", async () => {
    const team = await addTeam();
    const { path } = await addWebhook(team);
    const { secret } = await join(app, { scope: openAsOperator(team.workspaceId) }, "member");
    expect((await send(secret, ["GET", `${team.path}${path}`])).status).toBe(403);
  });
});

test("without allowed networks, a URL needs TLS", async () => {
  const strict = await startTestApp();
  const { secret } = await strict.addKey();
  const headers = { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" };
  const post = (path: string, body: object) =>
    fetch(`${strict.baseUrl}/open${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  const { id } = (await (await post("/workspaces", { name: "Team" })).json()) as { id: string }; // The API's response.
  const path = `/workspaces/${id}/webhooks`;
  expect((await post(path, { url: "http://example.com" })).status).toBe(400);
  expect((await post(path, { url: "https://example.com" })).status).toBe(201);
  await strict.close();
});
