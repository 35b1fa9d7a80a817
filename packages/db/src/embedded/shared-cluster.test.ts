import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  closeAfterTest,
  copyStoppedCluster,
  listIncompleteClusters,
  makeDirectory,
  query,
  serverPid,
  startHolder,
} from "./embedded-postgres.test-kit.ts";
import { openEmbeddedPostgres } from "./embedded-postgres.ts";

test("four processes that open a new data directory at the same time share one cluster", async () => {
  const dataDirectory = await makeDirectory();
  const opening = openEmbeddedPostgres({ dataDirectory });
  const holders = await Promise.all([1, 2, 3].map(() => startHolder(dataDirectory)));
  const postgres = closeAfterTest(await opening);
  const kinds = [postgres.kind, ...holders.map((holder) => holder.report.kind)].sort();
  expect(kinds).toEqual(["found", "found", "found", "started"]);
  expect(await listIncompleteClusters(dataDirectory)).toEqual([]);
  const present = await query(
    postgres.connection,
    "select count(*)::int as n from pg_locks where locktype = 'advisory' and mode = 'ShareLock' and granted",
  );
  expect(present).toEqual([{ n: 4 }]);

  const finished = await Promise.all(holders.map((holder) => holder.finish()));
  expect(finished).toEqual([0, 0, 0]);
  expect(await query(postgres.connection, "select 1 as one")).toEqual([{ one: 1 }]);
  await postgres.close();
  expect(await serverPid(dataDirectory)).toBeUndefined();
});

test("the process that started Postgres may leave first, and the last process to leave stops it", async () => {
  const dataDirectory = await copyStoppedCluster();
  const starter = await startHolder(dataDirectory);
  expect(starter.report.kind).toBe("started");
  const pid = await serverPid(dataDirectory);
  const finder = closeAfterTest(await openEmbeddedPostgres({ dataDirectory }));
  expect(finder.kind).toBe("found");
  expect(await starter.finish()).toBe(0);
  expect(await serverPid(dataDirectory)).toBe(pid);
  expect(await query(finder.connection, "select 1 as one")).toEqual([{ one: 1 }]);
  await Promise.all([finder.close(), finder.close()]);
  expect(await serverPid(dataDirectory)).toBeUndefined();
});

test("of two processes that leave at the same time, one stops Postgres", async () => {
  const dataDirectory = await copyStoppedCluster();
  for (let round = 0; round < 5; round += 1) {
    const both = await Promise.all([1, 2].map(() => openEmbeddedPostgres({ dataDirectory })));
    await Promise.all(both.map((postgres) => closeAfterTest(postgres).close()));
    expect(await serverPid(dataDirectory)).toBeUndefined();
  }
});

test("joins a Postgres that a killed process group left behind, and stops it when closed", async () => {
  const dataDirectory = await copyStoppedCluster();
  const holder = await startHolder(dataDirectory);
  const pid = await serverPid(dataDirectory);
  await holder.kill();
  expect(await serverPid(dataDirectory)).toBe(pid);
  const adopter = closeAfterTest(await openEmbeddedPostgres({ dataDirectory }));
  expect(adopter.kind).toBe("found");
  expect(await serverPid(dataDirectory)).toBe(pid);
  await adopter.close();
  expect(await serverPid(dataDirectory)).toBeUndefined();
});

test("starts after a crash if another process has the ID in the pid file, as after a container's restart", async () => {
  const dataDirectory = await copyStoppedCluster();
  const cluster = join(dataDirectory, "postgres");
  const holder = await startHolder(dataDirectory);
  const pid = await serverPid(dataDirectory);
  await holder.kill();
  if (pid) process.kill(pid, "SIGKILL");
  // The user that runs Postgres, because Postgres ignores the processes of other users.
  const { uid, gid } = await stat(cluster);
  const stranger = spawn("sleep", ["60"], { uid, gid });
  onTestFinished(() => void stranger.kill());
  await once(stranger, "spawn");
  const path = join(cluster, "postmaster.pid");
  await writeFile(path, (await readFile(path, "utf8")).replace(/^\d+/, String(stranger.pid)));
  const postgres = closeAfterTest(await openEmbeddedPostgres({ dataDirectory }));
  expect(postgres.kind).toBe("started");
  expect(stranger.exitCode).toBeNull();
});

test("opens while the previous process is still shutting down", async () => {
  const dataDirectory = await copyStoppedCluster();
  let leaving = await openEmbeddedPostgres({ dataDirectory });
  for (let round = 0; round < 5; round += 1) {
    const [next] = await Promise.all([openEmbeddedPostgres({ dataDirectory }), leaving.close()]);
    expect(await query(next.connection, "select 1 as one")).toEqual([{ one: 1 }]);
    leaving = closeAfterTest(next);
  }
});
