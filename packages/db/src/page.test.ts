import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { cutPage, type Page, type Position } from "./page.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

/** Sorted as text, 1000 would come before 9. Several rows have the same count. */
const counts = [9, 1_000, 0, 9, 10, 0, 9, 2 ** 53 - 1, 10, 9, 0, 100];
const rows = counts.map((count, index) => ({
  id: `0190a5d0-0000-7000-8000-${String(index).padStart(12, "0")}`,
  count,
}));

async function readPage(page: Page): Promise<{ id: string; count: number; position: string }[]> {
  const values = sql.join(rows.map(({ id, count }) => sql`(${id}::uuid, ${count}::bigint)`));
  const counted = sql<{ id: string; count: number }>`(values ${values})`.as<"counted">(
    sql`counted (id, count)`,
  );
  const query = database.db.selectFrom(counted).select(["counted.id", "counted.count"]);
  return await cutPage(query, { column: "counted.count", type: "bigint", id: "counted.id" }, page).execute();
}

async function readAll(direction: Page["direction"], limit: number) {
  const all: { id: string; count: number }[] = [];
  let after: Position | undefined;
  for (let pages = 0; pages <= rows.length; pages += 1) {
    const page = await readPage({ direction, limit, after });
    const last = page.at(-1);
    if (!last) return all;
    all.push(...page.map(({ id, count }) => ({ id, count })));
    after = { value: last.position, id: last.id };
  }
  throw new Error("The pages don't end.");
}

test.each(["asc", "desc"] as const)(
  "sorts numbers by size and equal ones by ID, and pages of any length continue after the last row (%s)",
  async (direction) => {
    const ascending = rows.toSorted((one, other) => one.count - other.count || (one.id < other.id ? -1 : 1));
    const expected = direction === "asc" ? ascending : ascending.toReversed();
    for (const limit of [1, 2, 5, rows.length]) expect(await readAll(direction, limit)).toEqual(expected);
  },
);
