import { createId } from "@latchkey/db/ids";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import type pg from "pg";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { connectAsAdmission } from "../admission/connect.test-kit.ts";
import { claimNames } from "./claim-names.ts";
import { addUseRows, countUses } from "./count-statement.ts";
import { findCopies } from "./find-copies.ts";
import { findApiKeys, findEarlier, lockCounters, recordSpending, writeCounters } from "./statements.ts";

let database: TestDatabase;
let client: pg.Client;
/** The text of each statement, by its name. */
const texts = new Map<string, string>();
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  client = await connectAsAdmission(database.connection);
  await collectTexts();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** Runs each statement of verifications without any keys, and collects its text. */
async function collectTexts(): Promise<void> {
  const observed = {
    query(config: pg.QueryArrayConfig) {
      texts.set(config.name ?? "", config.text);
      return client.query(config);
    },
  } as unknown as pg.Client; // The statements call nothing else.
  await findCopies(observed, []);
  await findApiKeys(observed, []);
  await lockCounters(observed, [], { owners: [], skipsLocked: false });
  await lockCounters(observed, [], { owners: [], skipsLocked: true });
  await writeCounters(observed, [], 0);
  await countUses(observed, {
    counters: [],
    apiKeys: new Set(),
    owners: [],
    validity: { from: 0, until: Number.POSITIVE_INFINITY },
  });
  await addUseRows(observed, []);
  await claimNames(observed, [{ userId: createId("user") }], { skipsClaimed: false });
  await claimNames(observed, [{ userId: createId("user") }], { skipsClaimed: true });
  await findEarlier(observed, []);
  await recordSpending(observed, []);
}

async function explain(text: string): Promise<string> {
  const { rows } = await client.query<{ "QUERY PLAN": string }>(`explain (generic_plan) ${text}`);
  return rows.map((row) => row["QUERY PLAN"]).join("\n");
}

const analyzeTables = `
  analyze users, workspaces, members, keyspaces, api_keys, consumers, issued_keys, key_counters, issued_key_uses, owner_versions,
    idempotency_records`;

/** Adds keys of one keyspace and of one user, with consumers and records of verifications. */
async function addRows(from: number, to: number): Promise<void> {
  const idOf = (kind: number) => `('${kind}0000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid`;
  const [apiKey, issuedKey, consumer] = [idOf(1), idOf(2), idOf(3)];
  const one = "'00000000-0000-7000-8000-000000000000'";
  const numbers = `from generate_series(${from}, ${to}) n`;
  await client.query("set role none; set local statement_timeout = 0; set local lock_timeout = 0");
  for (const statement of [
    `insert into users (id, email, name) values (${one}, 'ada@example.com', 'Ada') on conflict do nothing`,
    `insert into workspaces (id, name, slug) values (${one}, 'Ada', 'ada') on conflict do nothing`,
    `insert into members (workspace_id, user_id, role) values (${one}, ${one}, 'owner') on conflict do nothing`,
    `insert into keyspaces (workspace_id, id, name, prefix) values (${one}, ${one}, 'API', 'acme') on conflict do nothing`,
    `insert into api_keys (id, user_id, name, start, hash)
      select ${apiKey}, ${one}, 'key', 'lk_000000', sha256(n::text::bytea) ${numbers}`,
    `insert into consumers (workspace_id, keyspace_id, id, external_id) select ${one}, ${one}, ${consumer}, n ${numbers}`,
    `insert into issued_keys (workspace_id, keyspace_id, id, consumer_id, hash, start)
      select ${one}, ${one}, ${issuedKey}, ${consumer}, sha256(n::text::bytea), 'acme_' ${numbers}`,
    `insert into key_counters (key_id)
      select unnest(array[${apiKey}, ${issuedKey}, ${consumer}]) ${numbers}`,
    `insert into issued_key_uses (key_id, version) select ${issuedKey}, 1 ${numbers} where n % 50 = 1`,
    `insert into owner_versions (owner_id, version) select ${consumer}, 1 ${numbers}`,
    `insert into idempotency_records (user_id, method, path, key, request_hash, status, answer)
      select ${one}, 'POST', '/open/keys/verify', n, sha256(''), 200, 'null' ${numbers}`,
    analyzeTables,
  ])
    await client.query(statement);
  await client.query("set role latchkey_admission");
}

test("every statement of verifications finds its rows by an index, without any keys, with one and with many", async () => {
  expect([...texts.keys()].sort()).toEqual([
    "verify-add-uses",
    "verify-claim-free-names",
    "verify-claim-names",
    "verify-count",
    "verify-find-api-keys",
    "verify-find-issued-keys",
    "verify-find-records",
    "verify-lock",
    "verify-lock-free",
    "verify-record",
    "verify-write",
  ]);
  const explainAll = async () => {
    const plans = new Map<string, string>();
    for (const [name, text] of texts) plans.set(name, await explain(text));
    return plans;
  };
  await client.query("begin");
  const small = await explainAll();
  // A full scan of no row or of one costs nothing, but the plan would be kept while an import adds many keys, or requests add records
  // after all earlier ones were purged.
  const lookups = ["verify-add-uses", "verify-find-issued-keys", "verify-find-records"];
  const explainLookups = async () => [...(await explainAll())].filter(([name]) => lookups.includes(name));
  await client.query(`set role none; ${analyzeTables}; set role latchkey_admission`);
  const empty = await explainLookups();
  await addRows(1, 1);
  const one = await explainLookups();
  await addRows(2, 20_000);
  const large = await explainAll();
  await client.query("rollback");
  for (const [name, plan] of [...small, ...empty, ...one, ...large]) {
    expect(plan, name).not.toMatch(/Seq Scan|Hash Join|Merge Join|Materialize/);
    // An index that is read as a whole has no condition.
    const lines = plan.split("\n");
    const unconditional = lines.filter(
      (line, index) => /Index (Only )?Scan/.test(line) && !lines[index + 1]?.includes("Index Cond:"),
    );
    expect(unconditional, name).toEqual([]);
  }
  const plan = (name: string) => large.get(name) ?? "";
  for (const name of ["verify-count", "verify-lock", "verify-lock-free", "verify-write"])
    expect(plan(name)).toContain("Index Scan using key_counters_pkey on key_counters counter");
  // The rows are sorted before they are locked.
  for (const name of ["verify-lock", "verify-lock-free"])
    expect(plan(name)).toMatch(/LockRows .*\s+->\s+Sort .*\s+Sort Key: counter\.key_id/);
  for (const plans of [small, large])
    expect(plans.get("verify-claim-names")).toMatch(
      /^CTE Scan .*\s+Filter: .*pg_advisory_xact_lock.*\s+CTE name_lock\s+->\s+(Unique|Sort)/,
    );
  // The batch is sorted before its rows are updated one by one, also while the tables are empty.
  for (const plans of [small, large]) {
    const counting = plans.get("verify-count");
    for (const [input, table] of [
      ["issued_key", "issued_key_uses"],
      ["api_key", "key_counters"],
    ]) {
      expect(counting).toMatch(
        new RegExp(`CTE ${input}\\s+->\\s+Sort .*\\s+Sort Key: input\\w*\\.key_id\\n`),
      );
      expect(counting).toMatch(
        new RegExp(
          `Update on ${table} counter\\w* .*\\s+->\\s+Nested Loop .*\\s+->\\s+CTE Scan on ${input} \\w+ .*\\s+->\\s+Index Scan using ${table}_pkey on ${table} counter`,
        ),
      );
    }
    expect(counting).toContain("Index Scan using owner_versions_pkey on owner_versions stored");
  }
  expect(plan("verify-lock")).toContain("Index Scan using owner_versions_pkey on owner_versions stored");
  expect(plan("verify-find-issued-keys")).toMatch(/Index Scan using issued_keys_hash on issued_keys/);
  // Once for all workspaces that the caller reaches, and not once for each of them.
  for (const plans of [small, large])
    for (const index of ["issued_keys_hash", "retired_issued_secrets_pkey"])
      expect(plans.get("verify-find-issued-keys")).toMatch(
        new RegExp(
          `using ${index} on .*\\s+Index Cond: \\(\\(hash = lookup\\.hash\\) AND \\(workspace_id = ANY `,
        ),
      );
  expect(plan("verify-find-issued-keys")).toMatch(/Index Scan using consumers_pkey on consumers/);
  expect(plan("verify-find-api-keys")).toMatch(/Index Scan using api_keys_hash\w* on api_keys/);
  // By no other index, such as the one by which the purge finds expired records.
  for (const [name, plan] of [...small, ...empty, ...one, ...large])
    if (name === "verify-find-records")
      expect(plan).toContain("Index Scan using idempotency_records_pkey on idempotency_records");
  expect(plan("verify-record")).toContain("Conflict Arbiter Indexes: idempotency_records_pkey");
});
