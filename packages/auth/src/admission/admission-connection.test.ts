import { createDatabaseGate } from "@latchkey/db/testing/database-gate";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { AdmissionConnection } from "./admission-connection.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

async function createLink() {
  const gate = await createDatabaseGate(database.connection);
  const link = new AdmissionConnection(gate.connection, { applicationName: "test" });
  onTestFinished(async () => {
    await link.close();
    gate.close();
  });
  return { gate, query: () => link.use((client) => client.query("select 1 as one")) };
}

test("makes few attempts to reach an unavailable database, however many requests arrive, and connects soon after it is available again", async () => {
  const { gate, query } = await createLink();
  const until = performance.now() + 1_000;
  let failures = 0;
  while (performance.now() < until) {
    await Promise.all(
      Array.from({ length: 8 }, () => expect(query()).rejects.toThrow("Connection terminated")),
    );
    failures += 8;
  }
  expect(failures).toBeGreaterThan(100);
  expect(gate.arrivals()).toBeGreaterThan(1);
  expect(gate.arrivals()).toBeLessThan(8);
  gate.open();
  await expect.poll(query, { timeout: 5_000, interval: 20 }).toMatchObject({ rows: [{ one: 1 }] });
});

test("a connection that breaks is replaced without a pause", async () => {
  const { gate, query } = await createLink();
  gate.open();
  for (let round = 1; round <= 5; round += 1) {
    await query();
    expect(gate.arrivals()).toBe(round);
    gate.dropConnections();
    // A statement that is sent before the client notices the end of the connection fails with it.
    await query().catch(() => undefined);
    expect(await query()).toMatchObject({ rows: [{ one: 1 }] });
  }
});
