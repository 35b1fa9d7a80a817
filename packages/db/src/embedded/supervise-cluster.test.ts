import { once } from "node:events";
import { rename } from "node:fs/promises";
import { join } from "node:path";
import { Client } from "pg";
import { expect, onTestFinished, test } from "vitest";
import {
  closeAfterTest,
  copyStoppedCluster,
  prolongRecovery,
  query,
  serverPid,
  startHolder,
  waitForLog,
} from "./embedded-postgres.test-kit.ts";
import { openEmbeddedPostgres } from "./embedded-postgres.ts";
import type { EmbeddedPostgresEvent } from "./supervise-cluster.ts";

/** Collects events. `seen` settles at the next event of a kind. */
function eventLog() {
  const kinds: string[] = [];
  const target = new EventTarget();
  return {
    kinds,
    onEvent: ({ kind }: EmbeddedPostgresEvent) => {
      kinds.push(kind);
      target.dispatchEvent(new Event(kind));
    },
    seen: (kind: EmbeddedPostgresEvent["kind"]) => once(target, kind),
  };
}

async function signalServer(home: string, signal: NodeJS.Signals): Promise<void> {
  const pid = await serverPid(home);
  if (!pid) throw new Error("Postgres is not running");
  process.kill(pid, signal);
}

test("restarts a killed Postgres with its data, repeatedly", async () => {
  const dataDirectory = await copyStoppedCluster();
  const log = eventLog();
  const postgres = closeAfterTest(await openEmbeddedPostgres({ dataDirectory, onEvent: log.onEvent }));
  await query(postgres.connection, "create table kept (n int)");
  for (let round = 1; round <= 3; round += 1) {
    await query(postgres.connection, `insert into kept values (${round})`);
    const recovered = log.seen("recovered");
    await signalServer(dataDirectory, "SIGKILL");
    await recovered;
    const expected = Array.from({ length: round }, (_, index) => ({ n: index + 1 }));
    expect(await query(postgres.connection, "select n from kept order by n")).toEqual(expected);
  }
  await postgres.close();
  expect(log.kinds).toEqual(["lost", "recovered", "lost", "recovered", "lost", "recovered"]);
  expect(await serverPid(dataDirectory)).toBeUndefined();
});

test("all processes are present again after a kill, so that the last process to leave still stops Postgres", async () => {
  const dataDirectory = await copyStoppedCluster();
  const holder = await startHolder(dataDirectory);
  const logs = [eventLog(), eventLog()];
  const opened = await Promise.all(
    logs.map(async ({ onEvent }) => closeAfterTest(await openEmbeddedPostgres({ dataDirectory, onEvent }))),
  );
  const recovered = Promise.all(logs.map((log) => log.seen("recovered")));
  await signalServer(dataDirectory, "SIGKILL");
  await recovered;
  for (const postgres of opened) await postgres.close();
  expect(await holder.finish()).toBe(0);
  expect(logs.map((log) => log.kinds)).toEqual([
    ["lost", "recovered"],
    ["lost", "recovered"],
  ]);
  expect(await serverPid(dataDirectory)).toBeUndefined();
});

test("ends the smart shutdown that a SIGTERM to Postgres starts, and recovers", async () => {
  const dataDirectory = await copyStoppedCluster();
  const log = eventLog();
  const postgres = closeAfterTest(await openEmbeddedPostgres({ dataDirectory, onEvent: log.onEvent }));
  const user = new Client(postgres.connection);
  user.on("error", () => {});
  await user.connect();
  const recovered = log.seen("recovered");
  await signalServer(dataDirectory, "SIGTERM");
  await recovered;
  expect(await query(postgres.connection, "select 1 as one")).toEqual([{ one: 1 }]);
  expect(log.kinds).toEqual(["lost", "recovered"]);
});

test("keeps trying while Postgres can't be started, and stops trying when closed", async () => {
  const dataDirectory = await copyStoppedCluster();
  const log = eventLog();
  const postgres = closeAfterTest(await openEmbeddedPostgres({ dataDirectory, onEvent: log.onEvent }));
  const settings = join(dataDirectory, "postgres", "postgresql.conf");
  const lost = log.seen("lost");
  await rename(settings, `${settings}.away`);
  await signalServer(dataDirectory, "SIGKILL");
  await lost;
  const recovered = log.seen("recovered");
  await rename(`${settings}.away`, settings);
  await recovered;

  const lostAgain = log.seen("lost");
  await rename(settings, `${settings}.away`);
  await signalServer(dataDirectory, "SIGKILL");
  await lostAgain;
  await postgres.close();
  expect(log.kinds).toEqual(["lost", "recovered", "lost"]);
  await rename(`${settings}.away`, settings);
  const again = closeAfterTest(await openEmbeddedPostgres({ dataDirectory }));
  expect(again.kind).toBe("started");
});

test("a close during recovery leaves no Postgres behind", async () => {
  const dataDirectory = await copyStoppedCluster();
  const log = eventLog();
  const postgres = closeAfterTest(await openEmbeddedPostgres({ dataDirectory, onEvent: log.onEvent }));
  const lost = log.seen("lost");
  await signalServer(dataDirectory, "SIGKILL");
  await lost;
  await postgres.close();
  expect(log.kinds).toEqual(["lost"]);
  const next = closeAfterTest(await openEmbeddedPostgres({ dataDirectory }));
  expect(next.kind).toBe("started");
});

test("a long recovery is reported, and a close ends it and leaves no Postgres behind", async () => {
  const dataDirectory = await copyStoppedCluster();
  const cluster = join(dataDirectory, "postgres");
  const log = eventLog();
  const postgres = closeAfterTest(await openEmbeddedPostgres({ dataDirectory, onEvent: log.onEvent }));
  // Ends a close that hangs, so that only this test fails.
  onTestFinished(() => signalServer(dataDirectory, "SIGKILL").catch(() => {}));
  await prolongRecovery(cluster);
  const starting = log.seen("starting");
  await signalServer(dataDirectory, "SIGKILL");
  await waitForLog(cluster, "entering standby mode");
  await starting;
  await postgres.close();
  expect(log.kinds).toEqual(["lost", "starting"]);
  expect(await serverPid(dataDirectory)).toBeUndefined();
});
