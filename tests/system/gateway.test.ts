import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { findFreePort } from "@latchkey/db/testing/free-port";
import { afterAll, beforeAll, expect, test } from "vitest";
import { signUp } from "../support/account.ts";
import { addKeyspace, createKeyspace, issueKey, type Keyspace, readCounter } from "../support/keyspace.ts";
import { connectionTo, eventually } from "../support/postmaster.ts";
import { bareEnvironment, projectRoot } from "../support/product.ts";
import { createTestInstance, type TestInstance } from "../support/test-instance.ts";
import { isListening, startProxyProgram } from "./reverse-proxy.ts";

// The commands, the adapter and the configuration of nginx in docs/verification.md, in front of an API.

const stack = new AsyncDisposableStack();
let page: string;
let instance: TestInstance;
let keyspace: Keyspace;
let baseUrl: string;
let serviceKey: string;
let apiPort: number;
/** The `X-Consumer` header of each request that the API received. */
const consumers: (string | undefined)[] = [];

beforeAll(async () => {
  page = await readFile(join(projectRoot, "docs/verification.md"), "utf8");
  instance = await createTestInstance();
  stack.defer(() => instance.close());
  ({ baseUrl } = await instance.start());
  keyspace = await createKeyspace(baseUrl, await signUp(baseUrl));
  serviceKey = await createServiceKey();
  const api = createServer(({ headers }, response) => {
    consumers.push(headers["x-consumer"]?.toString());
    response.end();
  }).listen(0, "127.0.0.1");
  stack.defer(() => void api.close());
  await once(api, "listening");
  apiPort = (api.address() as AddressInfo).port; // It listens on a port.
});

afterAll(() => stack.disposeAsync());

/** The first block of a language on the page. */
function blockOf(language: string): string {
  const block = new RegExp(`^\`\`\`${language}\n(.*?)^\`\`\`$`, "ms").exec(page)?.[1];
  if (block === undefined) throw new Error(`The page has no block of ${language}.`);
  return block;
}

/** Creates an API key with the commands of the page. */
async function createServiceKey(): Promise<string> {
  const values = new Map([["WORKSPACE_ID", keyspace.workspaceId]]);
  let last: Record<string, string> = {};
  for (const line of blockOf("sh").trim().split("\n")) {
    const [program, ...args] = line
      .split(" ")
      .map((word) => word.replace(/^"\$(\w+)"$/, (_word, name) => values.get(name) ?? ""));
    expect(program).toBe("latchkey");
    const { status, stdout, stderr } = await instance.command([...args, "--json"]);
    expect([status, stderr]).toEqual([0, ""]);
    last = JSON.parse(stdout);
    values.set("SERVICE_ACCOUNT_ID", String(last.userId ?? last.id));
  }
  return String(last.key);
}

/** Starts the adapter as a process, and nginx in front of it and the API. @returns the URL of nginx. */
async function startGateway(stack: AsyncDisposableStack, apiKey = serviceKey): Promise<string> {
  const [port, adapterPort] = [await findFreePort(), await findFreePort()];
  const path = join(instance.directory, `adapter-${adapterPort}.mjs`);
  await writeFile(path, blockOf("js"));
  const env = {
    ...bareEnvironment,
    LATCHKEY_URL: baseUrl,
    LATCHKEY_API_KEY: apiKey,
    KEYSPACE_ID: keyspace.id,
    PORT: String(adapterPort),
  };
  const adapter: ChildProcess = spawn(process.execPath, [path], { env, stdio: "ignore" });
  stack.defer(async () => {
    const exited = once(adapter, "exit");
    if (adapter.kill()) await exited;
  });
  await eventually("the adapter listens", () => isListening(adapter, adapterPort));
  const block = blockOf("nginx")
    .replace("127.0.0.1:3000", `127.0.0.1:${apiPort}`)
    .replace("127.0.0.1:8081", `127.0.0.1:${adapterPort}`);
  const proxy = await startProxyProgram("nginx", port, `server { listen 127.0.0.1:${port}; ${block} }`);
  stack.defer(() => proxy.stop());
  return proxy.baseUrl;
}

/** Sends a request with a key to the gateway. */
async function request(url: string, authorization: string | undefined) {
  const before = consumers.length;
  const headers = { "X-Consumer": "forged", ...(authorization && { Authorization: authorization }) };
  const response = await fetch(url, { method: "POST", headers, body: "{}" });
  return {
    status: response.status,
    retryAfter: response.headers.get("Retry-After"),
    forwarded: consumers.slice(before),
  };
}

const rejected = (status: number) => ({ status, retryAfter: null, forwarded: [] });

test("requests with a valid key reach the API with the consumer, and the others get the documented status", async () => {
  await using stack = new AsyncDisposableStack();
  const url = await startGateway(stack);
  const verify = async (settings: object) => {
    const { key } = await issueKey(keyspace, settings);
    return await request(url, `Bearer ${key}`);
  };
  expect(await verify({ externalId: "Zoë & co" })).toEqual({
    ...{ status: 200, retryAfter: null },
    forwarded: [encodeURIComponent("Zoë & co")],
  });
  expect(await verify({})).toMatchObject({ status: 200, forwarded: [undefined] });
  // Valid keys of the workspace, but not of the keyspace.
  const { key: elsewhere } = await issueKey(
    await addKeyspace(keyspace, { name: "Staging", prefix: "staging" }),
  );
  for (const other of [elsewhere, serviceKey])
    expect(await request(url, `Bearer ${other}`)).toEqual(rejected(401));
  expect(await request(url, undefined)).toEqual(rejected(401));
  expect(await request(url, `Bearer ${"x".repeat(600)}`)).toEqual(rejected(401));
  expect(await verify({ isDisabled: true })).toEqual(rejected(401));
  expect(await verify({ ipRanges: ["127.0.0.0/8"] })).toMatchObject({ status: 200 });
  expect(await verify({ ipRanges: ["203.0.113.0/24"] })).toEqual(rejected(403));
  expect(await verify({ credits: { remaining: 0 } })).toEqual(rejected(402));
  const limits = [
    { name: "minute", quota: 1, windowSeconds: 60 },
    { name: "hour", quota: 1, windowSeconds: 3_600 },
  ];
  const { key } = await issueKey(keyspace, { limits });
  expect(await request(url, `Bearer ${key}`)).toMatchObject({ status: 200 });
  const limited = await request(url, `Bearer ${key}`);
  expect(limited).toMatchObject({ status: 429, forwarded: [] });
  expect(Number(limited.retryAfter)).toBeGreaterThan(3_000);
});

test("a header with quotes adds no member to the request", async () => {
  await using stack = new AsyncDisposableStack();
  const url = await startGateway(stack);
  const issued = await issueKey(keyspace, { credits: { remaining: 5 }, permissions: ["*"] });
  const connection = await connectionTo(instance.cluster);
  for (const key of [
    // This would be a valid request without cost.
    `${issued.key}","cost":0,"permissions":"read`,
    `","cost":0,"key":"${issued.key}`,
    `${issued.key}"}`,
    `${issued.key}\\`,
  ])
    expect(await request(url, `Bearer ${key}`)).toEqual(rejected(401));
  expect(await readCounter(connection, issued)).toMatchObject({ credits: 5 });
  expect(await request(url, `Bearer ${issued.key}`)).toMatchObject({ status: 200 });
  expect(await readCounter(connection, issued)).toMatchObject({ credits: 4 });
});

test("a request is rejected if Latchkey rejects the service's own key", async () => {
  await using stack = new AsyncDisposableStack();
  const { key } = await issueKey(keyspace);
  for (const apiKey of ["unknown", `${serviceKey.slice(0, -1)}!`]) {
    const url = await startGateway(stack, apiKey);
    expect(await request(url, `Bearer ${key}`)).toEqual({ status: 503, retryAfter: "1", forwarded: [] });
  }
});
