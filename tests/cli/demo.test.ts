import { testClientConfig } from "@latchkey/db/testing/test-connection";
import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { callProcedure, signIn } from "../support/account.ts";
import type { InProcessNode } from "../support/node-in-process.ts";
import { connectionTo } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { expectFailure, expectResult, expectText } from "./expect-result.ts";

// The demo, as a person uses it after `pnpm demo` and `pnpm start`.

interface Credentials {
  readonly password: string;
  readonly operator: string;
  readonly admin: string;
  readonly member: string;
  readonly viewer: string;
  readonly otherOwner: string;
  readonly key: string;
}

let instance: TestInstance;
let node: InProcessNode;
let credentials: Credentials;
let workspaceId: string;
let cookie: string;

beforeAll(async () => {
  instance = await createPreparedInstance();
  credentials = expectResult(await instance.command(["--json", "demo"])) as unknown as Credentials; // What it prints.
  node = await instance.startInProcess();
  const { cookie: session } = await signIn(node.baseUrl, {
    email: credentials.operator,
    password: credentials.password,
  });
  cookie = session ?? "";
  const { stdout } = await instance.command(["--json", "workspace", "list"]);
  workspaceId = (JSON.parse(stdout) as { data: { id: string }[] }).data[0]?.id ?? "";
});

afterAll(async () => {
  await instance?.close();
});

async function callKey(path: string): Promise<{ status: number; data: unknown }> {
  const headers = { Authorization: `Bearer ${credentials.key}` };
  const response = await fetch(`${node.baseUrl}${path}`, { headers });
  return { status: response.status, data: await response.json() };
}

async function query(
  path: string,
  input: Readonly<Record<string, unknown>>,
): Promise<{ items: readonly unknown[] }> {
  const { status, data } = await callProcedure(node.baseUrl, { path, kind: "query", input, cookie });
  expect({ path, status }).toEqual({ path, status: 200 });
  return data as { items: readonly unknown[] }; // The shape of a list.
}

test("every user that the demo lists can sign in, and the first one is the operator", async () => {
  const { password, operator, admin, member, viewer, otherOwner } = credentials;
  for (const email of [operator, admin, member, viewer, otherOwner])
    expect(await signIn(node.baseUrl, { email, password })).toMatchObject({ status: 200 });
  expect(expectResult(await instance.command(["--json", "operator", "list"]))).toMatchObject({
    data: [{ email: operator }],
  });
});

test("its API key works", async () => {
  expect(await callKey("/open/me")).toMatchObject({ status: 200 });
});

test("it has 1,000 members in two workspaces, and 100,000 audit events", async () => {
  const workspaces = expectResult(await instance.command(["--json", "workspace", "list"])) as {
    data: readonly { id: string }[];
  };
  const counts = await Promise.all(
    workspaces.data.map(async ({ id }) => {
      const members = expectResult(await instance.command(["--json", "member", "list", "--workspace", id]));
      const people = (members.data as { kind: string }[]).filter(({ kind }) => kind === "person");
      const log = expectText(await instance.command(["audit", "export", id, "--format", "ndjson"]));
      return { people: people.length, events: log.trim().split("\n").length };
    }),
  );
  expect(counts.reduce((sum, { people }) => sum + people, 0)).toBe(1_000);
  expect(counts.reduce((sum, { events }) => sum + events, 0)).toBeGreaterThanOrEqual(100_000);
});

const lists: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
  ["members.list", {}],
  ["audit.list", {}],
  ["invitations.list", {}],
  ["webhooks.list", {}],
  ["workspaceKeys.list", { sort: "recentUses", direction: "desc", pageSize: 25 }],
  ["members.list", { kind: "service_account" }],
];

test.for(lists)("%s with %o has items", async ([path, input]) => {
  const { items } = await query(path, { workspaceId, ...input });
  expect(items.length).toBeGreaterThan(1);
});

/** What is empty between requests, or belongs to people and secrets that no longer exist. */
const transientTables = [
  "deleted_keyspaces",
  "deleted_webhooks",
  "deleted_workspaces",
  "former_users",
  "idempotency_records",
  // Only keys without meters have rows, and the demo's keys have rate limits.
  "issued_key_uses",
  "migrations",
  "sign_in_origins",
  "throttle_buckets",
  "verifications",
];

test("it has every kind of resource", async () => {
  const client = new pg.Client(testClientConfig(await connectionTo(instance.cluster), "test"));
  await client.connect();
  onTestFinished(() => client.end());
  const { rows } = await client.query<{ name: string; isEmpty: boolean }>(
    `select tablename as name,
      query_to_xml(format('select from %I limit 1', tablename), true, true, '')::text not like '%<row%' as "isEmpty"
    from pg_tables where schemaname = 'public'`,
  );
  const empty = rows.filter(({ isEmpty }) => isEmpty).map(({ name }) => name);
  expect(rows.length).toBeGreaterThan(30);
  expect(empty.filter((name) => !transientTables.includes(name))).toEqual([]);
});

test("it rejects an instance that has users, and changes nothing", async () => {
  expectFailure(await instance.command(["--json", "demo"]), {
    status: 1,
    code: "CONFLICT",
    message: /^The instance already has users, such as .+\. The demo needs an empty instance: set DATA_DIR/,
  });
  const { stdout } = await instance.command(["--json", "workspace", "list"]);
  expect(JSON.parse(stdout).data).toHaveLength(2);
});
