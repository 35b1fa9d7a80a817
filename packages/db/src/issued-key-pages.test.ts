import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { attachRows, maxExaminedRows } from "./bounded-page.ts";
import { findConsumerPage } from "./consumers.ts";
import { explainAll } from "./explain.test-kit.ts";
import { createId, type KeyspaceId } from "./ids.ts";
import { findIssuedKeyPage, type IssuedKeyQuery } from "./issued-key-pages.ts";
import { listIssuedKeys } from "./issued-keys.ts";
import type { Page, Position } from "./page.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { insertUserWithPassword } from "./users.ts";
import { inWorkspace, type WorkspaceScope, type WorkspaceTrx } from "./workspace-scope.ts";
import { insertWorkspace } from "./workspaces.ts";

let database: TestDatabase;
let scope: WorkspaceScope;
let keyspaceId: KeyspaceId;

/** More than a page examines, so that a list without an index is noticed. */
const keyCount = maxExaminedRows + 2_000;

beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  scope = await database.db.transaction().execute(async (trx) => {
    const user = { email: "ada@example.com", name: "Ada", passwordHash: "hash" };
    const ownerId = (await insertUserWithPassword(trx, user)) as never; // No account has this email address.
    const made = await insertWorkspace(trx, { name: "Workspace", slug: randomUUID(), ownerId });
    return made?.scope as WorkspaceScope; // No workspace has this slug.
  });
  keyspaceId = createId("keyspace");
  const { workspaceId } = scope;
  await sql`
    insert into keyspaces (workspace_id, id, name, prefix)
    values (${workspaceId}, ${keyspaceId}, 'Production', 'sk_live')`.execute(database.owner);
  await sql`
    insert into consumers (workspace_id, keyspace_id, id, external_id)
    select ${workspaceId}, ${keyspaceId}, gen_random_uuid(), case n when 1 then 'acme' else 'customer_' || n end
    from generate_series(1, 5000) n`.execute(database.owner);
  // The last keys differ from the others, which are the most that a page examines.
  await sql`
    insert into issued_keys
      (workspace_id, keyspace_id, id, consumer_id, hash, start, name, permissions, expires_at, disabled_at, created_at)
    select ${workspaceId}, ${keyspaceId}, gen_random_uuid(),
      case when n = ${keyCount} then (select id from consumers where external_id = 'acme') end, sha256(n::text::bytea),
      case when n > ${maxExaminedRows} then 'sk_live_b' else 'sk_live_a' end || n,
      case when n > ${maxExaminedRows} then 'Late ' else 'Early ' end || n,
      case when n > ${maxExaminedRows} then '{read,write}'::text[] else '{read}' end,
      case when n > ${maxExaminedRows} then now() - n * interval '1 second' end,
      case when n % 2 = 0 and n > ${maxExaminedRows} then now() end,
      timestamptz '2026-01-01' + n * interval '1 second'
    from generate_series(1, ${keyCount}::integer) n`.execute(database.owner);
  await sql`insert into key_counters (key_id) select id from issued_keys`.execute(database.owner);
  await sql`analyze`.execute(database.owner);
});
afterAll(() => database.drop());

const work = <Result>(run: (trx: WorkspaceTrx) => Promise<Result>) => inWorkspace(database.db, scope, run);

type Query = Partial<Pick<IssuedKeyQuery, "sort" | "filter">> & Partial<Page>;

const find = (query: Query) =>
  work((trx) =>
    findIssuedKeyPage(trx, scope, {
      keyspaceId,
      sort: "createdAt",
      direction: "asc",
      limit: 5,
      filter: {},
      ...query,
    }),
  );

/** The names of all keys of a list, page by page. */
async function readAll(query: Query): Promise<readonly string[]> {
  const names: string[] = [];
  let after: Position | undefined;
  for (let pages = 0; pages < 100; pages += 1) {
    const page = { keyspaceId, sort: "createdAt", direction: "asc", filter: {}, ...query } as const;
    const { rows, examinedTo } = await work((trx) =>
      listIssuedKeys(trx, scope, { ...page, limit: 500, after }),
    );
    names.push(...rows.map(({ name }) => name));
    const last = rows.at(-1);
    after = rows.length === 500 && last ? { value: last.position, id: last.id } : examinedTo;
    if (!after) return names;
  }
  throw new Error("The pages don't end.");
}

const numbers = Array.from({ length: keyCount }, (_, index) => index + 1);
const late = numbers.filter((number) => number > maxExaminedRows);

test.each<readonly [string, Query, readonly string[]]>([
  ["a name", { filter: { name: "LATE" } }, late.map((number) => `Late ${number}`)],
  ["first characters", { filter: { start: "sk_live_b" } }, late.map((number) => `Late ${number}`)],
  ["a permission", { filter: { permission: "write" } }, late.map((number) => `Late ${number}`)],
  [
    "a permission and a status",
    { filter: { permission: "write", status: "expired" } },
    late.filter((number) => number % 2 === 1).map((number) => `Late ${number}`),
  ],
  [
    "a status, by expiry",
    { sort: "expiresAt", filter: { status: "expired" } },
    late
      .filter((number) => number % 2 === 1)
      .map((number) => `Late ${number}`)
      .toReversed(),
  ],
  [
    "a status, newest first",
    { direction: "desc", filter: { status: "disabled" } },
    late
      .filter((number) => number % 2 === 0)
      .map((number) => `Late ${number}`)
      .toReversed(),
  ],
  ["a consumer", { filter: { externalId: "acme" } }, [`Late ${keyCount}`]],
  ["a permission that no key has", { filter: { permission: "nobody" } }, []],
  ["two filters without a common key", { filter: { permission: "write", name: "early" } }, []],
  ["credits", { filter: { status: "out-of-credits" } }, []],
])("finds every key with %s, in order, although most keys don't match", async (_what, query, expected) => {
  expect(await readAll(query)).toEqual(expected);
});

describe("former secrets", () => {
  const readNumbers = async (start: string) =>
    (await readAll({ filter: { start } })).map((name) => Number(name.split(" ")[1]));

  /** Retires a secret of each key with one of these numbers. */
  const retire = (chosen: readonly number[], start: string, goodUntil: string) =>
    sql`
    insert into retired_issued_secrets (hash, workspace_id, keyspace_id, key_id, start, good_until)
    select sha256((${start}::text || n)::bytea), workspace_id, keyspace_id, id, ${start}::text || n, ${goodUntil}::timestamptz
    from unnest(${chosen}::integer[]) n join issued_keys on name = case when n > ${maxExaminedRows} then 'Late ' else 'Early ' end || n`.execute(
      database.owner,
    );

  test("a key is found by the first characters of a former secret while it is valid", async () => {
    await retire([7, keyCount], "sk_old_", "infinity");
    await retire([8], "sk_old_", "2026-01-01");
    await retire([9], "sk_old_", "-infinity");
    expect(await readNumbers("sk_old_")).toEqual([7, keyCount]);
    expect(await readNumbers("sk_old_7")).toEqual([7]);
    expect(await readNumbers("sk_old_8")).toEqual([]);
    // By both secrets, once.
    await retire([7], "sk_live_a7", "infinity");
    expect(await readNumbers("sk_live_a7")).toEqual(
      numbers.filter((number) => number <= maxExaminedRows && String(number).startsWith("7")),
    );
    const both = { filter: { start: "sk_old_", name: "late" } } as const;
    expect(await readAll(both)).toEqual([`Late ${keyCount}`]);
  });

  test("every key is found if more former secrets match than are looked up at once", async () => {
    const even = numbers.filter((number) => number % 2 === 0);
    await retire(even, "sk_many_", "infinity");
    expect(await readNumbers("sk_many_")).toEqual(even);
    // The current secrets of all keys match too.
    expect(await readNumbers("sk_")).toEqual(numbers);
  });
});

describe("a search", () => {
  const byName = { sort: "name" } as const;

  test("finds keys by the start of a name or of a secret, each once, in every order", async () => {
    await sql`update issued_keys set name = 'sk_live_b10001 (old)' where name = 'Early 3'`.execute(
      database.owner,
    );
    // Both a name and a secret.
    await sql`update issued_keys set name = 'SK_LIVE_B10001' where name = 'Late 10001'`.execute(
      database.owner,
    );
    const found = ["sk_live_b10001 (old)", "SK_LIVE_B10001"];
    expect(await readAll({ filter: { search: "sk_live_b10001" } })).toEqual(found);
    expect(await readAll({ ...byName, filter: { search: "sk_live_b10001" } })).toEqual(found.toReversed());
    await sql`update issued_keys set name = 'Early 3' where name = 'sk_live_b10001 (old)'`.execute(
      database.owner,
    );
    await sql`update issued_keys set name = 'Late 10001' where name = 'SK_LIVE_B10001'`.execute(
      database.owner,
    );
  });

  test("finds a key by a former secret while it is valid, and keys with other names by name", async () => {
    const retireAll = (start: string, goodUntil: string) =>
      sql`
      insert into retired_issued_secrets (hash, workspace_id, keyspace_id, key_id, start, good_until)
      select sha256((${start}::text || name)::bytea), workspace_id, keyspace_id, id, ${start}, ${goodUntil}::timestamptz
      from issued_keys where name in ('Early 5', 'Late 10005')`.execute(database.owner);
    await retireAll("late_4f", "infinity");
    await retireAll("late_gone", "2026-01-01");
    expect(await readAll({ filter: { search: "late_4f" } })).toEqual(["Early 5", "Late 10005"]);
    expect(await readAll({ filter: { search: "late_gone" } })).toEqual([]);
    const lateNames = late.map((number) => `Late ${number}`);
    // "LATE" starts no secret, because the letter case of secrets matters; "late" does.
    expect(await readAll({ filter: { search: "LATE" } })).toEqual(lateNames);
    expect(await readAll({ filter: { search: "late" } })).toEqual(["Early 5", ...lateNames]);
    expect(await readAll({ ...byName, filter: { search: "late" } })).toEqual([
      "Early 5",
      ...lateNames.toSorted(),
    ]);
    const backwards = { ...byName, direction: "desc", filter: { search: "late" } } as const;
    expect(await readAll(backwards)).toEqual(["Early 5", ...lateNames.toSorted()].toReversed());
    const written = { filter: { search: "late", permission: "write" } } as const;
    expect(await readAll({ ...byName, ...written })).toEqual(lateNames.toSorted());
  });

  test("by name reads no more keys than the page has, although most names match", async () => {
    const page = await find({ ...byName, direction: "desc", filter: { search: "late" }, limit: 5 });
    expect(page.found).toHaveLength(5);
    expect(page.examinedTo).toBeUndefined();
  });

  test("finds every key if more secrets match than are looked up at once", async () => {
    expect(await readAll({ filter: { search: "sk_live_b" } })).toEqual(
      late.map((number) => `Late ${number}`),
    );
    expect(await readAll({ filter: { search: "sk_live_" } })).toHaveLength(keyCount);
    expect(await readAll({ ...byName, filter: { search: "sk_live_b" } })).toHaveLength(late.length);
  });
});

test("a page that examined the most keys says where to continue, and one that ended the list does not", async () => {
  const query = { filter: { start: "sk_live_", name: "late" } } as const;
  const first = await find(query);
  expect(first.found).toEqual([]);
  expect(first.examinedTo).toBeDefined();
  const second = await find({ ...query, after: first.examinedTo });
  expect(second.found).toHaveLength(5);
  expect((await find({ filter: { status: "out-of-credits" }, limit: 5, direction: "desc" })).found).toEqual(
    [],
  );
});

test("a row that was deleted since it was found is left out, and the next page begins after it", () => {
  const found = [
    { id: "1", position: "a" },
    { id: "2", position: "b" },
  ];
  const page = { direction: "asc", limit: 2 } as const;
  const rows = [{ id: "2" }, { id: "1" }];
  expect(attachRows({ found, examinedTo: undefined }, rows, page)).toEqual({
    rows: found,
    examinedTo: undefined,
  });
  expect(attachRows({ found, examinedTo: undefined }, [{ id: "1" }], page)).toEqual({
    rows: [found[0]],
    examinedTo: { id: "2", value: "b" },
  });
});

describe("an index is used", () => {
  /** The plans of all statements that a list runs. */
  async function explain(
    query: Query,
    run: (trx: WorkspaceTrx, page: Page & IssuedKeyQuery) => Promise<unknown> = (trx, page) =>
      findIssuedKeyPage(trx, scope, page),
  ): Promise<string> {
    const page = {
      keyspaceId,
      sort: "createdAt",
      direction: "asc",
      limit: 5,
      filter: {},
      ...query,
    } as const;
    return await work((trx) => explainAll(trx, (recording) => run(recording, page)));
  }

  const after = { value: "1767225600000000", id: randomUUID() };
  const common = { filter: { permission: "read", start: "sk_live_" } } as const;

  test.each<readonly [string, Query, string, RegExp]>([
    ["creation", { after }, "issued_keys_listed", /ROW\(created_at, id\) > /],
    [
      "creation, newest first",
      { after, direction: "desc" },
      "issued_keys_listed",
      /ROW\(created_at, id\) < /,
    ],
    [
      "names",
      { sort: "name", after: { ...after, value: "x" } },
      "issued_keys_by_name_search",
      /ROW\(name_search, id\)/,
    ],
    ["expiry", { sort: "expiresAt", after }, "issued_keys_by_expiry", /ROW\(listed_expiry, id\) > /],
    ["a name", { filter: { name: "late" } }, "issued_keys_by_name_search", /name_search >= 'late'/],
    [
      "a name, by name",
      { sort: "name", filter: { name: "e" } },
      "issued_keys_by_name_search",
      /name_search >= 'e'/,
    ],
    [
      "first characters",
      { filter: { start: "sk_live_b" } },
      "issued_keys_by_start",
      /start ~>=~ 'sk_live_b'/,
    ],
    [
      "first characters of former secrets",
      { filter: { start: "sk_old_" } },
      "retired_issued_secrets_by_start",
      /start ~>=~ 'sk_old_'/,
    ],
    [
      "a former secret of a key",
      { filter: { start: "sk_many_" } },
      "retired_issued_secrets_key_id",
      /key_id = listed(?:_\d+)?\.id/,
    ],
    [
      "a search, by secrets",
      { filter: { search: "sk_live_b1000" } },
      "issued_keys_by_start",
      /start ~>=~ 'sk_live_b1000'/,
    ],
    [
      "a search, by names",
      { filter: { search: "late" } },
      "issued_keys_by_name_search",
      /name_search >= 'late'/,
    ],
    [
      "a search, by name",
      { sort: "name", filter: { search: "Early" }, after: { ...after, value: "early 5" } },
      "issued_keys_by_name_search",
      /ROW\(name_search, id\) > /,
    ],
    ["a consumer", { filter: { externalId: "acme" } }, "issued_keys_consumer_id", /consumer_id = /],
    [
      "a permission",
      { filter: { permission: "write" } },
      "issued_key_permissions_pkey",
      /permission = 'write'/,
    ],
    ["common filters", { ...common, after }, "issued_key_permissions_pkey", /ROW\(.*created_at, .*id\) > /],
    [
      "disabled keys",
      { filter: { status: "disabled" }, after },
      "issued_keys_disabled",
      /ROW\(created_at, id\) > /,
    ],
    ["expired keys", { filter: { status: "expired" } }, "issued_keys_by_expiry", /listed_expiry <= now\(\)/],
    [
      "keys that expire soon",
      { filter: { status: "expiring" } },
      "issued_keys_by_expiry",
      /listed_expiry <= \(now\(\) \+ '30 days'::interval\)/,
    ],
    [
      "keys that expire soon, by expiry",
      { sort: "expiresAt", filter: { status: "expiring" } },
      "issued_keys_by_expiry",
      /listed_expiry <= \(now\(\) \+ '30 days'::interval\)/,
    ],
    ["credits", { filter: { status: "active" } }, "key_counters_pkey", /key_id = /],
  ])("for %s", async (_what, query, index, condition) => {
    const plan = await explain(query);
    expect(plan).toMatch(new RegExp(`Index (?:Only )?Scan (?:Backward )?(?:using|on) ${index}\\b`));
    expect(
      plan
        .split("\n")
        .filter((line) => line.includes("Index Cond:"))
        .join("\n"),
    ).toMatch(condition);
    expect(plan).not.toContain("Seq Scan");
  });

  test.each<readonly [string, Query, object, RegExp]>([
    ["creation", { after }, {}, /ROW\(created_at, id\) > /],
    [
      "external IDs",
      { after: { ...after, value: "x" } },
      { sort: "externalId" },
      /ROW\(external_id_search, id\) > /,
    ],
    ["a search", {}, { filter: { search: "Ac" } }, /external_id_search >= 'ac'/],
    [
      "a search, by external ID",
      {},
      { sort: "externalId", filter: { search: "Ac" } },
      /external_id_search >= 'ac'/,
    ],
  ])("for consumers by %s", async (_what, query, consumers, condition) => {
    const plan = await explain(query, (trx, page) =>
      findConsumerPage(trx, scope, { ...page, sort: "createdAt", filter: {}, ...consumers }),
    );
    expect(
      plan
        .split("\n")
        .filter((line) => line.includes("Index Cond:"))
        .join("\n"),
    ).toMatch(condition);
    expect(plan).not.toContain("Seq Scan");
  });
});
