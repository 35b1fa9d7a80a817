import { appendFile, readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { closeAfterTest, copyStoppedCluster, query } from "./embedded-postgres.test-kit.ts";
import { type EmbeddedPostgres, openEmbeddedPostgres } from "./embedded-postgres.ts";

const tenMebibytes = 10 * 1024 * 1024;

/** Fills the log to one byte too many. */
async function fill(log: string, letter: string): Promise<void> {
  await appendFile(log, letter.repeat(tenMebibytes + 1 - (await stat(log)).size));
}

/** Makes Postgres write a line to the log. */
async function failToLogIn({ connection }: EmbeddedPostgres): Promise<void> {
  await expect(query({ ...connection, password: "guess" }, "select")).rejects.toThrow("password");
}

test("rotates the log before a start and while Postgres runs, and keeps one former log", async () => {
  const dataDirectory = await copyStoppedCluster();
  const cluster = join(dataDirectory, "postgres");
  const log = join(cluster, "postgres.log");
  const listLogs = async () => (await readdir(cluster)).filter((name) => name.startsWith("postgres.log"));
  await closeAfterTest(await openEmbeddedPostgres({ dataDirectory })).close();
  expect(await listLogs()).toEqual(["postgres.log"]);

  await fill(log, "a");
  const postgres = closeAfterTest(await openEmbeddedPostgres({ dataDirectory }));
  expect((await readFile(`${log}.1`, "utf8")).endsWith("aaaa")).toBe(true);
  expect((await stat(log)).size).toBeLessThan(10_000);

  await failToLogIn(postgres);
  await fill(log, "b");
  await expect.poll(async () => (await stat(log)).size, { timeout: 15_000 }).toBeLessThan(10_000);
  const former = await readFile(`${log}.1`, "utf8");
  expect(former.length).toBe(tenMebibytes + 1);
  expect(former).toContain("password authentication failed");
  expect(former.endsWith("bbbb")).toBe(true);
  expect((await stat(`${log}.1`)).mode & 0o777).toBe(0o600);

  await failToLogIn(postgres);
  // The line is not preceded by ten mebibytes of NUL.
  await expect.poll(() => readFile(log, "utf8")).toMatch(/^[^\0]*password authentication failed/);
  expect((await stat(log)).size).toBeLessThan(10_000);
  expect((await listLogs()).sort()).toEqual(["postgres.log", "postgres.log.1"]);
});
