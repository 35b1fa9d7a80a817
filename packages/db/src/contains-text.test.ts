import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { containsText } from "./contains-text.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

async function contains(text: string, search: string): Promise<boolean | undefined> {
  const { rows } = await sql<{ found: boolean }>`
    select ${containsText(sql`${text}::text`, search)} as found`.execute(database.db);
  return rows[0]?.found;
}

test.each([
  ["CI deploys", "ci DEP", true],
  ["Größe", "GRÖSSE", false],
  ["Größe", "GRÖß", true],
  ["日本語のキー", "本語", true],
  ["100% sure", "0% S", true],
  ["under_score", "r_s", true],
  ["underscore", "r_s", false],
  ["back\\slash", "k\\S", true],
  ["\\\\x41", "A", false],
  ["anything", "", true],
])("%j contains %j: %s", async (text, search, expected) => {
  expect(await contains(text, search)).toBe(expected);
});

/** Measures how long a search of 1,500 texts of 500 characters takes, in milliseconds. No text contains the search. */
async function measure(search: string): Promise<number> {
  const startedAt = performance.now();
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from generate_series(1, 1500) n
    where ${containsText(sql`(n || repeat('ä', 500))`, search)}`.execute(database.db);
  expect(rows).toEqual([{ count: 0 }]);
  return performance.now() - startedAt;
}

test.each([
  ["differs at its end", `${"ä".repeat(99)}y`],
  ["differs at its beginning", `y${"ä".repeat(99)}`],
  ["differs in its middle", `${"ä".repeat(49)}y${"ä".repeat(50)}`],
])(
  "a search that %s from every text costs about as much as one that resembles none",
  async (_where, search) => {
    const [ordinary, hostile]: [number[], number[]] = [[], []];
    // `like` takes 50 times as long, `strpos` 10 times, a regular expression 7 times.
    const isAlike = () => Math.min(...hostile) < 4 * Math.min(...ordinary);
    // On a busy machine, other processes can interrupt each of the first searches.
    for (let round = 0; round < 5 || (!isAlike() && round < 40); round += 1) {
      ordinary.push(await measure("nowhere to be found"));
      hostile.push(await measure(search));
    }
    expect(isAlike(), `${Math.min(...hostile)} ms instead of ${Math.min(...ordinary)} ms`).toBe(true);
  },
);
