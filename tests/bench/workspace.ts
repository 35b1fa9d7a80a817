import { clientConfig } from "@latchkey/db/connection";
import { createId, encodeId, type WorkspaceId } from "@latchkey/db/ids";
import pg from "pg";
import { type Account, callProcedure, signUp } from "../support/account.ts";
import { connectionTo } from "../support/postmaster.ts";
import { createTestInstance } from "../support/test-instance.ts";
import { median } from "./measure/statistics.ts";
import { renderTable } from "./report/tables.ts";

// `pnpm bench:workspace`: measures the statistics of a workspace whose keys were used in every hour of 90 days: the calls
// of the overview, and those of the API keys page. Then measures a filtered audit log with 100,000 events. Use an idle
// machine.

const keyCounts = [200, 1_000];
const days = 90;
const events = 100_000;
const repetitions = 15;
const daySeconds = 86_400;

interface Call {
  readonly what: string;
  readonly path: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** The daily buckets of a chart, in a time zone whose days don't begin at midnight in UTC. */
function bucketsOf(count: number): { readonly starts: readonly number[]; readonly to: number } {
  const today = Math.floor(Date.now() / 1_000 / daySeconds) * daySeconds - 2 * 3_600;
  const starts = Array.from({ length: count }, (_, index) => today - (count - 1 - index) * daySeconds);
  return { starts, to: today + daySeconds };
}

const keyList = { pageSize: 25, direction: "desc" };
const statistics: readonly Call[] = [
  ...[30, 90].flatMap((count) => [
    { what: `overview: chart of ${count} days`, path: "overview.usage", input: bucketsOf(count) },
    { what: `overview: keys, ${count} days`, path: "overview.keys", input: bucketsOf(count) },
  ]),
  ...["createdAt", "recentUses", "lastUsedAt"].map((sort) => ({
    what: `API keys, by \`${sort}\``,
    path: "workspaceKeys.list",
    input: { ...keyList, sort },
  })),
  ...["limited", "unused"].map((status) => ({
    what: `API keys, ${status}`,
    path: "workspaceKeys.list",
    input: { ...keyList, status },
  })),
];

/** Filters of an audit log whose other events are all of another user and another action. */
function auditCalls(rareActorId: string): readonly Call[] {
  const [action, actorId] = ["workspace.renamed", rareActorId];
  return [
    { what: "audit log, all events", path: "audit.list", input: {} },
    { what: "audit log, rare action", path: "audit.list", input: { action } },
    { what: "audit log, rare actor", path: "audit.list", input: { actorId } },
    { what: "audit log, both", path: "audit.list", input: { action, actorId } },
  ];
}

/** Adds keys of the only user with SQL until there are `count`, and an hour of use for each hour of the period. */
async function seedKeys(client: pg.Client, count: number): Promise<void> {
  // The history is written by nodes, which add it to the rollups too; here, the rollups are computed below.
  await client.query("set latchkey.adds_workspace_usage = on");
  await client.query(
    `with added as (
      insert into api_keys (id, user_id, name, description, start, hash, created_at)
      select uuidv7(), users.id, 'Key number ' || n, '', 'lk_' || substr(md5(n::text), 1, 6), sha256(n::text::bytea),
        now() - interval '100 days'
      from users, generate_series((select count(*) + 1 from api_keys), $1::int) n
      returning id
    )
    insert into key_usage_hours (key_id, hour, workspace_id, outcome, count)
    select added.id, hour, workspaces.id, 'admitted', 1 + abs(hashtext(added.id::text || hour)) % 100
    from generate_series(date_trunc('hour', now()) - $2::int * interval '1 day', now(), '1 hour') hour, added, workspaces`,
    [count, days],
  );
  await client.query("insert into key_counters (key_id) select id from api_keys on conflict do nothing");
  await client.query("truncate workspace_usage_hours, workspace_key_days");
  await client.query(`
    insert into workspace_usage_hours
    select workspace_id, hour, outcome, sum(count) from key_usage_hours group by 1, 2, 3`);
  await client.query(`
    insert into workspace_key_days
    select workspace_id, key_id, (hour at time zone 'UTC')::date, sum(count), max(hour)
    from key_usage_hours group by 1, 2, 3`);
  await client.query("vacuum (analyze)");
}

async function timeCall(baseUrl: string, { cookie }: Account, { path, input }: Call): Promise<number> {
  const startedAt = performance.now();
  const { status } = await callProcedure(baseUrl, { path, kind: "query", input, cookie });
  if (status !== 200) throw new Error(`${path} returned ${status}.`);
  return performance.now() - startedAt;
}

async function measure(baseUrl: string, account: Account, call: Call): Promise<string> {
  const times: number[] = [];
  for (let time = 0; time <= repetitions; time += 1) times.push(await timeCall(baseUrl, account, call));
  return median(times.slice(1)).toFixed(0); // The first call may plan the statement.
}

/** Adds changes to one role by the owner, and between them ten changes by another user. Returns the other user's ID. */
async function seedEvents(client: pg.Client): Promise<string> {
  const actorId = createId("user");
  await client.query(
    `insert into audit_events (workspace_id, id, occurred_at, action, actor_kind, actor_user_id, target_kind, target_id)
    select workspaces.id, uuidv7(), now() - n * interval '1 minute',
      case n % $1::int when $1::int / 2 then 'workspace.renamed' else 'member.role-changed' end, 'session',
      case n % $1::int when $1::int / 2 then $2::uuid else users.id end, 'member', users.id
    from workspaces, users, generate_series(1, $3::int) n`,
    [events / 10, actorId, events],
  );
  await client.query("vacuum (analyze) audit_events");
  return encodeId("user", actorId);
}

await using stack = new AsyncDisposableStack();
const instance = await createTestInstance();
stack.defer(() => instance.close());
const { baseUrl } = await instance.start();
const account = await signUp(baseUrl);
const client = new pg.Client(clientConfig(await connectionTo(instance.cluster), "seed"));
await client.connect();
stack.defer(() => client.end());
const { rows: workspaces } = await client.query<{ id: WorkspaceId }>("select id from workspaces");
const workspaceId = workspaces[0] && encodeId("workspace", workspaces[0].id);

/** Measures calls, as one column of the table. */
async function measureAll(calls: readonly Call[]): Promise<string[]> {
  const column: string[] = [];
  for (const { input, ...call } of calls)
    column.push(await measure(baseUrl, account, { ...call, input: { workspaceId, ...input } }));
  return column;
}

const columns: string[][] = [];
for (const count of keyCounts) {
  await seedKeys(client, count);
  columns.push(await measureAll(statistics));
}
const rows = statistics.map(({ what }, index) => [what, ...columns.map((column) => column[index] ?? "")]);
const titles = keyCounts.map((count) => `${count.toLocaleString("en")} keys`);
console.info(`Each key used in every hour of ${days} days; medians of ${repetitions}, in milliseconds.\n`);
console.info(renderTable(["", ...titles], rows));

const filters = auditCalls(await seedEvents(client));
const times = await measureAll(filters);
console.info(`\nAn audit log of ${events.toLocaleString("en")} events.\n`);
console.info(
  renderTable(
    ["", "ms"],
    filters.map(({ what }, index) => [what, times[index] ?? ""]),
  ),
);
