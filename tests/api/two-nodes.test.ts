import { setTimeout as delay } from "node:timers/promises";
import { TOTP } from "otpauth";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type CreatedKey,
  callProcedure,
  createKey,
  deleteKey,
  findSignedIn,
  readUsageCount,
  signIn,
} from "../support/account.ts";
import { holdLocks, toUuid } from "../support/inspection.ts";
import { startLoad } from "../support/load.ts";
import { callOpen } from "../support/open-call.ts";
import { connectionTo } from "../support/postmaster.ts";
import { countStatuses, deadlineMs } from "../support/request-counts.ts";
import { startTwoNodes, type TwoNodes } from "../support/two-nodes.ts";

// Two nodes on one database. They communicate only through Postgres.

let nodes: TwoNodes;

beforeAll(async () => {
  nodes = await startTwoNodes();
});

afterAll(async () => {
  await nodes?.close();
});

const newKey = (name: string): Promise<CreatedKey> => createKey(nodes.left.baseUrl, nodes.account, name);

test("a key deleted on one node is rejected by both on the next request, under load, in twenty rounds", async () => {
  const rounds = 20;
  let admitted = 0;
  let rejected = 0;
  for (let round = 0; round < rounds; round += 1) {
    const { id, key } = await newKey(`round ${round}`);
    const load = startLoad({ baseUrls: [nodes.left.baseUrl, nodes.right.baseUrl], key, connections: 16 });
    await load.reached(100);
    // Half of the rounds delete on the node that remembers the key, half on the other node.
    await deleteKey(round % 2 === 0 ? nodes.left.baseUrl : nodes.right.baseUrl, nodes.account, id);
    const deletedAt = performance.now();
    const next = await Promise.all([nodes.left, nodes.right].map(({ baseUrl }) => callOpen(baseUrl, key)));
    await load.reached(load.outcomes.length + 50);
    const outcomes = await load.stop();
    expect(next.map(({ status }) => status)).toEqual([403, 403]);
    const after = outcomes.filter(({ sentAt }) => sentAt > deletedAt);
    expect(countStatuses(after)).toEqual({ 403: after.length });
    expect(Object.keys(countStatuses(outcomes)).sort()).toEqual(["200", "403"]);
    admitted += countStatuses(outcomes)["200"] ?? 0;
    rejected += after.length;
  }
  console.info(
    `deletion under load: ${admitted} admitted before, ${rejected} rejected after, 0 admitted after`,
  );
});

test("a key deleted by the command is rejected by both nodes on the next request", async () => {
  const { id, key } = await newKey("for the command");
  for (const { baseUrl } of [nodes.left, nodes.right])
    expect((await callOpen(baseUrl, key)).status).toBe(200);
  expect((await nodes.instance.command(["key", "delete", id])).status).toBe(0);
  for (const { baseUrl } of [nodes.left, nodes.right])
    expect((await callOpen(baseUrl, key)).status).toBe(403);
});

test("the usage count is exactly the number of admitted requests, with 200 connections to both nodes", async () => {
  const { id, key } = await newKey("counted");
  const load = startLoad({
    baseUrls: [nodes.left.baseUrl, nodes.right.baseUrl],
    key,
    connections: 200,
    requests: 10_000,
  });
  const startedAt = performance.now();
  await load.ended;
  const tookMs = performance.now() - startedAt;
  expect(countStatuses(load.outcomes)).toEqual({ 200: load.outcomes.length });
  expect(await readUsageCount(nodes.left.baseUrl, nodes.account, id)).toBe(load.outcomes.length);
  console.info(`exact count: ${load.outcomes.length} in ${Math.round(tookMs)} ms over 200 connections`);
});

test("a request that waits for a lock for longer than the product's deadline is admitted by nodes that tests start", async () => {
  const { id, key } = await newKey("locked");
  const { release } = await holdLocks(
    await connectionTo(nodes.instance.cluster),
    "select from key_counters where key_id = $1 for update",
    [toUuid(id)],
  );
  const answers = Promise.all([nodes.left, nodes.right].map(({ baseUrl }) => callOpen(baseUrl, key)));
  await delay(deadlineMs);
  await release();
  expect((await answers).map(({ status }) => status)).toEqual([200, 200]);
});

test("a sign-out on one node ends the session on both nodes, on the next request", async () => {
  const { left, right, account } = nodes;
  for (let round = 0; round < 10; round += 1) {
    const [here, there] = round % 2 === 0 ? [left, right] : [right, left];
    const { cookie = "" } = await signIn(here.baseUrl, account);
    const session = { ...account, cookie };
    // Both nodes have seen the session.
    for (const { baseUrl } of [here, there]) expect(await findSignedIn(baseUrl, session)).toBe(account.email);
    const signOut = { path: "session.signOut", kind: "mutation", cookie } as const;
    expect((await callProcedure(here.baseUrl, signOut)).status).toBe(200);
    const list = { path: "account.sessions", kind: "query", cookie } as const;
    expect((await callProcedure(there.baseUrl, list)).code).toBe("UNAUTHORIZED");
    for (const { baseUrl } of [there, here]) expect(await findSignedIn(baseUrl, session)).toBeUndefined();
  }
  expect(await findSignedIn(right.baseUrl, account)).toBe(account.email);
});

test("a code of an authenticator app is accepted once, by one of the nodes", async () => {
  const { left, right, account } = nodes;
  const { cookie } = account;
  const change = (path: string, input: object) =>
    callProcedure(left.baseUrl, { path, kind: "mutation", input, cookie });
  const { data } = await change("factors.createTotp", {});
  const { secret } = data as { readonly secret: string }; // The router's type for this procedure.
  const app = new TOTP({ secret });
  expect((await change("factors.enableTotp", { code: app.generate() })).status).toBe(200);
  const pending: { readonly baseUrl: string; readonly cookie: string }[] = [];
  for (let index = 0; index < 10; index += 1) {
    const { baseUrl } = index % 2 === 0 ? left : right;
    const answer = await signIn(baseUrl, account);
    pending.push({ baseUrl, cookie: answer.cookie ?? "" });
  }
  // The code of the next 30 seconds, because the present one was used to set up the app.
  const code = app.generate({ timestamp: Date.now() + 30_000 });
  const answers = await Promise.all(
    pending.map((sent) =>
      callProcedure(sent.baseUrl, {
        path: "session.enterCode",
        kind: "mutation",
        input: { code },
        cookie: sent.cookie,
      }),
    ),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  expect(answers.filter(({ status }) => status === 400)).toHaveLength(9);
});
