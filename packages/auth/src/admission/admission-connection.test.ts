import { createDatabaseGate } from "@latchkey/db/testing/database-gate";
import { createTestDatabase, type TestDatabase } from "@latchkey/db/testing/test-database";
import { afterAll, beforeAll, expect, inject, onTestFinished, test, vi } from "vitest";
import { AdmissionConnection } from "./admission-connection.ts";
import { admissionTimeouts } from "./timeouts.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

async function createLink(timeouts = admissionTimeouts) {
  const gate = await createDatabaseGate(database.connection);
  const link = new AdmissionConnection(gate.connection, { applicationName: "test", timeouts });
  onTestFinished(async () => {
    await link.close();
    gate.close();
  });
  return { gate, link, query: () => link.use((client) => client.query("select 1 as one")) };
}

test("makes few attempts to reach an unavailable database, however many requests arrive, and connects soon after it is available again", async () => {
  const { gate, query } = await createLink();
  const startedAt = performance.now();
  let failures = 0;
  while (performance.now() < startedAt + 1_000 || failures <= 100) {
    await Promise.all(
      Array.from({ length: 8 }, () => expect(query()).rejects.toThrow("Connection terminated")),
    );
    failures += 8;
  }
  // The pauses grow to between half a second and a second.
  const seconds = (performance.now() - startedAt) / 1_000;
  expect(gate.arrivals()).toBeGreaterThan(1);
  expect(gate.arrivals()).toBeLessThan(6 + 2 * seconds);
  gate.open();
  await expect.poll(query, { interval: 20 }).toMatchObject({ rows: [{ one: 1 }] });
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

/** For connections and statements that take long on a busy machine. */
const patientTimeouts = { ...admissionTimeouts, connectTimeoutMs: 20_000, statementTimeoutMs: 20_000 };

test("connects to no read-only server, makes few attempts, and connects soon after the server is writable", async () => {
  const { gate, query } = await createLink(patientTimeouts);
  gate.open();
  await database.setReadOnly(true);
  onTestFinished(() => database.setReadOnly(false));
  let failures = 0;
  for (; gate.arrivals() < 3; failures += 8)
    await Promise.all(Array.from({ length: 8 }, () => expect(query()).rejects.toThrow("read-only")));
  // Requests share an attempt, and those that arrive during the pause after it make none.
  expect(failures).toBeGreaterThanOrEqual(8 * gate.arrivals());
  await database.setReadOnly(false);
  await expect.poll(query, { interval: 20 }).toMatchObject({ rows: [{ one: 1 }] });
});

test("a connection that turns out to be read-only is replaced after a pause", async () => {
  const { gate, link } = await createLink(patientTimeouts);
  gate.open();
  const write = () => link.use((client) => client.query("update key_counters set use_count = 0 where false"));
  await link.use((client) => client.query("set default_transaction_read_only = on"));
  // The pause doesn't end while the test looks.
  vi.spyOn(performance, "now").mockReturnValue(performance.now());
  onTestFinished(() => {
    vi.restoreAllMocks();
  });
  const results = await Promise.allSettled([write(), write()]);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(results[0]).toMatchObject({ reason: { code: "25006" } });
  expect(link.isConnected).toBe(false);
  await expect(write()).rejects.toMatchObject({ code: "25006" });
  expect(gate.arrivals()).toBe(1);
  vi.restoreAllMocks();
  await expect.poll(write, { interval: 20 }).toMatchObject({ command: "UPDATE" });
  expect(gate.arrivals()).toBe(2);
});
