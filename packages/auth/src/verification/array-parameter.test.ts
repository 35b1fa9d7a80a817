import { randomUUID } from "node:crypto";
import { testClientConfig } from "@latchkey/db/testing/test-connection";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { toArray, toIntegerArray, toUuidArray } from "./array-parameter.ts";

let database: TestDatabase;
let client: pg.Client;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  client = new pg.Client(testClientConfig(database.connection, "a test"));
  await client.connect();
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** Returns what Postgres reads from a parameter. */
async function read(type: string, parameter: Buffer | string): Promise<unknown> {
  const { rows } = await client.query(`select to_json($1::${type}[]) as value`, [parameter]);
  return rows[0].value;
}

test.each([0, 1, 500])("Postgres reads %i IDs", async (count) => {
  const ids = Array.from({ length: count }, () => randomUUID());
  expect(await read("uuid", toUuidArray(ids))).toEqual(ids);
});

test("Postgres reads each digit of an ID at each position", async () => {
  const ids = Array.from("0123456789abcdef", (digit) =>
    "00000000-0000-0000-0000-000000000000".replaceAll("0", digit),
  );
  ids.push("01234567-89ab-cdef-0123-456789abcdef");
  expect(await read("uuid", toUuidArray(ids))).toEqual(ids);
  expect(await read("uuid", toUuidArray(ids.map((id) => id.toUpperCase())))).toEqual(ids);
});

test.each([["01234567-89ab-cdef-0123-456789abcde"], ["g1234567-89ab-cdef-0123-456789abcdef"], ["é"]])(
  "%s is not sent as an ID",
  (text) => {
    expect(() => toUuidArray([text])).toThrow("An ID isn't a UUID.");
  },
);

test.each([[[]], [[7]], [[-1, 0, 2_147_483_647, -2_147_483_648]]])(
  "Postgres reads the integers %j",
  async (numbers) => {
    expect(await read("integer", toIntegerArray(numbers))).toEqual(numbers);
  },
);

test("a number outside the range of 32-bit integers is not sent", () => {
  expect(() => toIntegerArray([2_147_483_648])).toThrow(RangeError);
});

test("Postgres reads other arrays", async () => {
  expect(await read("float8", toArray([1.5, null]))).toEqual([1.5, null]);
  expect(await read("boolean", toArray([true, false]))).toEqual([true, false]);
  expect(await read("bigint", toArray([]))).toEqual([]);
});
