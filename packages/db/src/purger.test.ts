import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, afterEach, beforeAll, beforeEach, expect, inject, onTestFinished, test, vi } from "vitest";
import { verificationPaths } from "./idempotency-records.ts";
import { createPurgeRules, type PurgeRule } from "./purge.ts";
import { Purger } from "./purger.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";

let database: TestDatabase;
let userId: string;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  userId = randomUUID();
  await sql`insert into users (id, email, name) values (${userId}, 'ada@example.com', 'Ada')`.execute(
    database.owner,
  );
});
afterAll(() => database.drop());

const purgers: Purger[] = [];
function createPurger(options: Omit<ConstructorParameters<typeof Purger>[0], "connection"> = {}): Purger {
  const purger = new Purger({ connection: database.connection, ...options });
  purgers.push(purger);
  return purger;
}
beforeEach(async () => {
  await sql`truncate sessions, verifications`.execute(database.owner);
});
afterEach(async () => {
  for (const purger of purgers.splice(0)) await purger.close();
});

/** Adds sessions and verifications that expire in this many seconds, by the database's clock. */
async function addRows(count: number, expireInSeconds: number): Promise<void> {
  const expiresAt = sql`clock_timestamp() + make_interval(secs => ${expireInSeconds})`;
  await sql`
    insert into sessions (id, user_id, token, expires_at)
    select gen_random_uuid(), ${userId}, gen_random_uuid(), ${expiresAt}
    from generate_series(1, ${count})`.execute(database.owner);
  await sql`
    insert into verifications (id, identifier, value, expires_at)
    select gen_random_uuid(), 'ada@example.com', '', ${expiresAt} from generate_series(1, ${count})`.execute(
    database.owner,
  );
}

async function countRows(): Promise<{ sessions: number; verifications: number } | undefined> {
  const { rows } = await sql<{ sessions: number; verifications: number }>`
    select (select count(*) from sessions) as sessions, (select count(*) from verifications) as verifications`.execute(
    database.owner,
  );
  return rows[0];
}

test("deletes only the sessions and verifications that have expired", async () => {
  await addRows(3, -1);
  await addRows(2, 3_600);
  await createPurger().run();
  expect(await countRows()).toEqual({ sessions: 2, verifications: 2 });
});

test("deletes throttle buckets that are full again", async () => {
  await sql`
    insert into throttle_buckets (digest, full_at)
    select sha256(seconds::text::bytea), now() + make_interval(secs => seconds)
    from unnest(array[-2, -1, 60]) as seconds`.execute(database.owner);
  await createPurger().run();
  expect((await sql`select from throttle_buckets`.execute(database.owner)).rows).toHaveLength(1);
});

test("deletes idempotency records after 24 hours", async () => {
  await sql`
    insert into idempotency_records (user_id, method, path, key, request_hash, status, answer, created_at)
    select ${userId}, 'POST', '/open/workspaces', age, sha256(''), 201, 'null', now() - age::interval
    from unnest(array['24 hours', '23 hours 59 minutes']) as age`.execute(database.owner);
  await createPurger().run();
  const { rows } = await sql`select key from idempotency_records`.execute(database.owner);
  expect(rows).toEqual([{ key: "23 hours 59 minutes" }]);
});

test("deletes idempotency records of verifications after an hour, found by an index of their own", async () => {
  await sql`delete from idempotency_records`.execute(database.owner);
  await sql`
    insert into idempotency_records (user_id, method, path, key, request_hash, status, answer, created_at)
    select ${userId}, 'POST', path, age, sha256(''), 200, 'null', now() - age::interval
    from unnest(array['60 minutes', '59 minutes']) as age, unnest(${[...verificationPaths, "/open/workspaces"]}::text[]) as path`.execute(
    database.owner,
  );
  await createPurger().run();
  const { rows } = await sql<{ key: string; path: string }>`
    select key, path from idempotency_records order by path, key`.execute(database.owner);
  expect(rows.filter(({ path }) => path === "/open/workspaces")).toHaveLength(2);
  expect(rows.filter(({ key }) => key === "60 minutes")).toHaveLength(1);
  expect(rows).toHaveLength(4);
  await database.owner.transaction().execute(async (trx) => {
    await sql`set local enable_seqscan = off`.execute(trx);
    const paths = sql.join(verificationPaths.map((path) => sql.lit(path)));
    const { rows: plan } = await sql<{ "QUERY PLAN": string }>`
      explain select ctid from idempotency_records
      where created_at <= now() - make_interval(hours => ${1}) and path in (${paths})
      order by created_at limit 500 for update skip locked`.execute(trx);
    expect(plan.map((row) => row["QUERY PLAN"]).join("\n")).toContain("idempotency_records_of_verifications");
  });
});

test("a rule can have more statements per round", async () => {
  let steps = 0;
  const deleteBatch = async (_db: unknown, limit: number) => {
    steps += 1;
    return limit;
  };
  await createPurger({ rules: [{ name: "endless rows", deleteBatch, maxSteps: 50 }] }).run();
  expect(steps).toBe(50);
  const rules = createPurgeRules({ historyDays: 90, instanceLogDays: 365 });
  expect(rules.filter(({ maxSteps }) => maxSteps === 1_000).map(({ name }) => name)).toEqual([
    "expired verifications",
    "throttle buckets",
    "idempotency records",
    "idempotency records of verifications",
  ]);
});

test("deletes at most 10,000 rows per kind and round, 500 per statement", async () => {
  const limits: number[] = [];
  const rule: PurgeRule = {
    name: "endless rows",
    deleteBatch: async (_db, limit) => {
      limits.push(limit);
      return limit;
    },
  };
  await createPurger({ rules: [rule] }).run();
  expect(limits).toEqual(Array.from({ length: 20 }, () => 500));
});

test("one round deletes more rows than one statement can", async () => {
  await addRows(1_100, -1);
  await createPurger().run();
  expect(await countRows()).toEqual({ sessions: 0, verifications: 0 });
});

test("two nodes can purge at the same time, and a locked row is left for the next round", async () => {
  await addRows(1_000, -1);
  await database.owner.transaction().execute(async (trx) => {
    await sql`select from sessions order by expires_at limit 1 for update`.execute(trx);
    const failures: unknown[] = [];
    const options = { onFailure: (error: unknown) => failures.push(error) };
    await Promise.all([createPurger(options).run(), createPurger(options).run()]);
    expect(failures).toEqual([]);
    expect(await countRows()).toEqual({ sessions: 1, verifications: 0 });
  });
  await createPurger().run();
  expect(await countRows()).toEqual({ sessions: 0, verifications: 0 });
});

test("a rule that fails is reported and tried again, and other rules still run", async () => {
  await addRows(1, -1);
  const failures: string[] = [];
  let isBroken = true;
  const broken: PurgeRule = {
    name: "broken rows",
    deleteBatch: async () => {
      if (isBroken) throw new Error("broken rule");
      return 0;
    },
  };
  const sessions: PurgeRule = {
    name: "sessions",
    deleteBatch: async (db) => Number((await sql`delete from sessions`.execute(db)).numAffectedRows),
  };
  const purger = createPurger({
    rules: [broken, sessions],
    onFailure: (_error, rule) => failures.push(rule),
  });
  await purger.run();
  expect([failures, (await countRows())?.sessions]).toEqual([["broken rows"], 0]);
  isBroken = false;
  await purger.run();
  expect(failures).toEqual(["broken rows"]);
});

test("runs once a minute until it is closed", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  let rounds = 0;
  const rule: PurgeRule = {
    name: "rows",
    deleteBatch: async () => {
      rounds += 1;
      return 0;
    },
  };
  const purger = createPurger({ rules: [rule] });
  await vi.advanceTimersByTimeAsync(120_000);
  expect(rounds).toBe(2);
  await purger.close();
  await vi.advanceTimersByTimeAsync(120_000);
  expect(rounds).toBe(2);
});

test.each([
  ["sessions", "expires_at"],
  ["verifications", "expires_at"],
  ["throttle_buckets", "full_at"],
  ["sign_in_origins", "last_used_at"],
  ["idempotency_records", "created_at"],
  ["api_keys", "deleted_at"],
])("finds expired rows of %s by an index", async (table, column) => {
  await database.owner.transaction().execute(async (trx) => {
    await sql`set local enable_seqscan = off`.execute(trx);
    const { rows } = await sql<{ "QUERY PLAN": string }>`
      explain select ctid from ${sql.table(table)} where ${sql.ref(column)} <= now()
      order by ${sql.ref(column)} limit 500 for update skip locked`.execute(trx);
    expect(rows.map((row) => row["QUERY PLAN"]).join("\n")).toContain(`${table}_${column}`);
  });
});
