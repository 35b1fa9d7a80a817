import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callProcedure, createKey, signUp } from "../support/account.ts";
import { open } from "../support/inspection.ts";
import { postUntilAnswered, sendIdempotently } from "../support/keyspace.ts";
import { callOpen } from "../support/open-call.ts";
import { connectionTo } from "../support/postmaster.ts";
import { createPreparedInstance } from "../support/prepared-instance.ts";
import { projectRoot } from "../support/product.ts";
import type { TestInstance } from "../support/test-instance.ts";
import { untilAnswered } from "../support/until-answered.ts";

// The settings of every kind of connection that a node opens, as Postgres reports them: an event trigger publishes
// them at each login. The expected values are literals, so that a change to the product's constants fails this test.

interface Login {
  /** Its `application_name`. */
  readonly name: string;
  readonly role: string;
  readonly settings: Readonly<Record<string, string>>;
}

interface ExpectedLogin extends Login {
  /** The most connections of this kind that a running node has, by default. */
  readonly connections: number;
}

/** Publishes settings made by the connection or for its login, and those that durability depends on. */
const publishLogins = `
create function publish_login() returns event_trigger language plpgsql security definer as $$
begin
  perform pg_notify('logins', json_build_object(
    'name', current_setting('application_name'),
    'role', current_setting('role'),
    'settings', (
      select json_object_agg(name, current_setting(name) order by name) from pg_settings
      where (source in ('client', 'user', 'database', 'database user', 'session') and name <> 'application_name')
        or name in ('fsync', 'synchronous_commit')
    )
  )::text);
end $$;
create event trigger publish_login on login execute function publish_login();`;

/** All connections have these. */
const common = { client_encoding: "UTF8", fsync: "on", synchronous_commit: "on" };

const pool = { ...common, statement_timeout: "5s", idle_in_transaction_session_timeout: "10s" };
const reads = { ...pool, statement_timeout: "1s", default_transaction_read_only: "on" };

const admission = {
  ...common,
  enable_hashjoin: "off",
  enable_memoize: "off",
  enable_mergejoin: "off",
  enable_seqscan: "off",
  idle_in_transaction_session_timeout: "900ms",
  jit: "off",
  lock_timeout: "100ms",
  plan_cache_mode: "force_generic_plan",
  statement_timeout: "1400ms",
};

const expected: readonly ExpectedLogin[] = [
  {
    name: "latchkey migrate",
    connections: 0,
    role: "none",
    settings: { ...pool, statement_timeout: "10min", lock_timeout: "100ms" },
  },
  { name: "latchkey start", connections: 0, role: "none", settings: pool },
  { name: "latchkey start", connections: 0, role: "latchkey_tenant", settings: common },
  { name: "latchkey start", connections: 0, role: "latchkey_admission", settings: common },
  { name: "latchkey", connections: 5, role: "latchkey_tenant", settings: pool },
  { name: "latchkey reads", connections: 5, role: "latchkey_tenant", settings: reads },
  { name: "latchkey open", connections: 5, role: "latchkey_tenant", settings: pool },
  { name: "latchkey open reads", connections: 5, role: "latchkey_tenant", settings: reads },
  { name: "latchkey jobs", connections: 7, role: "none", settings: pool },
  { name: "latchkey purge", connections: 1, role: "latchkey_tenant", settings: pool },
  { name: "latchkey pruning", connections: 1, role: "latchkey_admission", settings: pool },
  { name: "latchkey statistics", connections: 1, role: "latchkey_admission", settings: pool },
  { name: "latchkey inspection", connections: 1, role: "latchkey_admission", settings: reads },
  { name: "latchkey admission", connections: 1, role: "latchkey_admission", settings: admission },
  {
    name: "latchkey verification",
    connections: 1,
    role: "latchkey_admission",
    settings: { ...admission, statement_timeout: "700ms" },
  },
];

let instance: TestInstance;
let inspector: Awaited<ReturnType<typeof open>>;
/** By name and role. */
const logins = new Map<string, Login>();
const keyOf = ({ name, role }: Login): string => `${name} as ${role}`;

beforeAll(async () => {
  instance = await createPreparedInstance({}, { deadlines: "product" });
  // The first node creates the database and keeps Postgres running.
  await instance.startInProcess();
  inspector = await open(await connectionTo(instance.cluster));
  inspector.on("notification", ({ payload = "" }) => {
    const login = JSON.parse(payload) as Login; // As published.
    logins.set(keyOf(login), login);
  });
  await inspector.query("listen logins");
  await inspector.query(publishLogins);
});

afterAll(async () => {
  await inspector?.end();
  await instance?.close();
});

test("every kind of connection has its role and its settings", async () => {
  const { baseUrl } = await instance.start();
  const account = await signUp(baseUrl);
  const { key } = await createKey(baseUrl, account, "first");
  expect((await untilAnswered(() => callOpen(baseUrl, key, "/open/workspaces"))).status).toBe(200);
  const caller = { baseUrl, callerKey: key };
  const created = await sendIdempotently(caller, ["POST", "/workspaces"], { body: { name: "Payments" } });
  expect(created.status).toBe(201);
  const verified = await postUntilAnswered(caller, "/keys/verify", { key: "acme_unknown" });
  expect(verified).toMatchObject({ code: "NOT_FOUND" });
  const input = { key, method: "GET", path: "/open/me" };
  const call = { path: "keyHistory.tryOut", kind: "mutation", input, cookie: account.cookie } as const;
  expect((await untilAnswered(() => callProcedure(baseUrl, call))).code).toBeUndefined();

  // Statistics are written within a second. A round of pruning that can't connect is repeated after a minute.
  await expect
    .poll(() => [...logins.keys()], { timeout: 90_000 })
    .toEqual(expect.arrayContaining(expected.map(keyOf)));
  const product = [...logins.values()].filter(({ name }) => name !== "latchkey login role");
  const byKey = (one: Login, other: Login): number => keyOf(one).localeCompare(keyOf(other));
  const withoutCounts = expected.map(({ connections: _connections, ...login }): Login => login);
  expect(product.sort(byKey)).toEqual(withoutCounts.sort(byKey));
});

test("the README states how many connections a node has", async () => {
  const text = await readFile(join(projectRoot, "README.md"), "utf8");
  const [, fixed, total, withEmail] =
    /`DATABASE_READ_CONNECTIONS`\) \+ (\d+) connections[\s\S]*?That is (\d+) by default, and (\d+)\s+with `SMTP_URL`/.exec(
      text,
    ) ?? [];
  const count = expected.reduce((sum, { connections }) => sum + connections, 0);
  // Four pools with five connections each by default, and three connections for the job of emails.
  expect([fixed, total, withEmail].map(Number)).toEqual([count - 20, count, count + 3]);
});
