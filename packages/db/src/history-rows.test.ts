import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { asTable } from "./history-rows.ts";
import { createId } from "./ids.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

const types = { id: "uuid", at: "timestamptz", text: "text", count: "bigint" } as const;

test("a table holds any text, nulls, times with milliseconds and large numbers", async () => {
  const texts = ["", "a", "null", "NULL", "a,b", "{}", '"', "\\", '\\"', " ", "\n", "✓ 😀", "a'b", null];
  const rows = texts.map((text, index) => ({
    id: index % 2 === 0 ? createId("key") : null,
    at: index % 3 === 0 ? null : new Date(Date.UTC(2026, 0, 1, 0, 0, 0, index)),
    text,
    count: Number.MAX_SAFE_INTEGER - index,
  }));
  const stored = await sql`select id, at, text, count::float8 from ${asTable(rows, types)}`.execute(
    database.owner,
  );
  expect(stored.rows).toEqual(rows);
});

test("a table without rows is empty, and can be used in several statements", async () => {
  const [empty, one] = [asTable([], types), asTable([{ id: null, at: null, text: "a", count: 1 }], types)];
  for (const _attempt of [1, 2]) {
    const { rows } = await sql`
      select (select count(*)::integer from ${empty}) as empty, (select count(*)::integer from ${one}) as one`.execute(
      database.owner,
    );
    expect(rows).toEqual([{ empty: 0, one: 1 }]);
  }
});
