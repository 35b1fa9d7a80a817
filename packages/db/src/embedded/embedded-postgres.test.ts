import { execFile } from "node:child_process";
import {
  chmod,
  chown,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { scratchDirectory } from "../testing/scratch-directory.ts";
import { readSuperuserConnection } from "./cluster-connection.ts";
import {
  closeAfterTest,
  copyStoppedCluster,
  isRoot,
  listIncompleteClusters,
  makeDirectory,
  query,
  serverPid,
} from "./embedded-postgres.test-kit.ts";
import { type EmbeddedPostgres, openEmbeddedPostgres } from "./embedded-postgres.ts";

const run = promisify(execFile);

async function modeOf(path: string): Promise<string> {
  return ((await stat(path)).mode & 0o7777).toString(8);
}

test("creates a cluster at the first start, keeps its data and starts again", async () => {
  const dataDirectory = join(await makeDirectory(), "new", ".data");
  const first = closeAfterTest(await openEmbeddedPostgres({ dataDirectory }));
  expect(first.kind).toBe("started");
  expect(first.location).toEqual({ directory: dataDirectory });
  await query(first.connection, "create table kept (word text)");
  await query(first.connection, "insert into kept values ('Zürich')");
  await first.close();
  expect(await serverPid(dataDirectory)).toBeUndefined();

  const second = closeAfterTest(await openEmbeddedPostgres({ dataDirectory }));
  expect(second.kind).toBe("started");
  expect(second.connection).toEqual(first.connection);
  expect(await query(second.connection, "select word from kept")).toEqual([{ word: "Zürich" }]);
  expect(await listIncompleteClusters(dataDirectory)).toEqual([]);
});

describe("a running cluster", () => {
  let parent: string;
  let dataDirectory: string;
  let parentMode: string;
  let postgres: EmbeddedPostgres;

  beforeAll(async () => {
    parent = await mkdtemp(join(scratchDirectory, "latchkey-test-"));
    await chmod(parent, 0o755);
    dataDirectory = join(parent, "data");
    await mkdir(dataDirectory, { mode: 0o755 });
    parentMode = await modeOf(parent);
    postgres = await openEmbeddedPostgres({ dataDirectory });
  });

  afterAll(async () => {
    await postgres.close();
    await rm(parent, { recursive: true, force: true });
  });

  test("has the documented settings", async () => {
    const { connection } = postgres;
    const rows = await query<{ name: string; setting: string }>(
      connection,
      `select name, current_setting(name) as setting from pg_settings where name in (
       'listen_addresses', 'max_connections', 'shared_buffers', 'max_wal_size', 'min_wal_size', 'fsync',
       'synchronous_commit', 'full_page_writes', 'data_checksums', 'server_encoding', 'password_encryption')`,
    );
    expect(Object.fromEntries(rows.map((row) => [row.name, row.setting]))).toEqual({
      data_checksums: "on",
      fsync: "on",
      full_page_writes: "on",
      listen_addresses: "",
      max_connections: "200",
      max_wal_size: "4GB",
      min_wal_size: "512MB",
      password_encryption: "scram-sha-256",
      server_encoding: "UTF8",
      shared_buffers: "256MB",
      synchronous_commit: "on",
    });
    const [locale] = await query(
      connection,
      "select datlocprovider, datlocale, datcollate from pg_database where datname = current_database()",
    );
    expect(locale).toEqual({ datlocprovider: "b", datlocale: "C.UTF-8", datcollate: "C" });
    await expect(query({ ...connection, password: "guess" }, "select 1")).rejects.toThrow("password");
  });

  test("makes the data directory, the cluster, the password and the log inaccessible to other users", async () => {
    const cluster = join(dataDirectory, "postgres");
    expect(await modeOf(dataDirectory)).toBe(isRoot ? "710" : "700");
    expect(await modeOf(cluster)).toBe("700");
    expect(await modeOf(join(cluster, "latchkey.password"))).toBe("600");
    expect(await modeOf(join(cluster, "postgres.log"))).toBe("600");
    expect(await modeOf(join(cluster, ".s.PGSQL.5432"))).toBe("700");
    expect(await modeOf(parent)).toBe(parentMode);
    expect((await stat(cluster)).uid === 0).toBe(false);
    expect((await stat(dataDirectory)).uid).toBe(process.getuid?.());
  });

  test("writes no password and no value of a statement to the log or the process list", async () => {
    const { connection } = postgres;
    const canary = "canary_4f1c";
    await query(connection, "create table secrets (word text primary key)");
    await query(connection, `insert into secrets values ('${canary}')`);
    await expect(query(connection, `insert into secrets values ('${canary}')`)).rejects.toThrow("duplicate");
    await expect(query(connection, `select '${canary}'::integer`)).rejects.toThrow(canary);
    await expect(query({ ...connection, password: canary }, "select 1")).rejects.toThrow("password");
    const log = await readFile(join(dataDirectory, "postgres", "postgres.log"), "utf8");
    expect(log).toContain("password authentication failed");
    expect(log).not.toContain(canary);
    expect(log).not.toContain(connection.password);
    const { stdout } = await run("ps", ["-eo", "args"], { maxBuffer: 2 ** 26 });
    expect(stdout).toContain(join(dataDirectory, "postgres"));
    expect(stdout).not.toContain(connection.password);
  });

  test("holds no snapshot and no transaction while it is present", async () => {
    const presence = await query(
      await readSuperuserConnection(join(dataDirectory, "postgres")),
      `select state, backend_xmin, backend_xid, datname from pg_stat_activity
     where application_name = 'latchkey presence'`,
    );
    expect(presence).toEqual([{ state: "idle", backend_xmin: null, backend_xid: null, datname: "postgres" }]);
  });
});

test("works in a path that is too long for a socket and contains shell characters", async () => {
  const dataDirectory = join(await makeDirectory(), "long ".repeat(20), `a,b 'c' "d" $HOME \`id\` ü`);
  const postgres = closeAfterTest(await openEmbeddedPostgres({ dataDirectory }));
  expect(postgres.location).toEqual({ directory: dataDirectory });
  onTestFinished(() => rm(postgres.connection.host, { recursive: true }));
  expect(postgres.connection.host).toMatch(/^\/tmp\/latchkey-[0-9a-f]{16}$/);
  expect(await modeOf(postgres.connection.host)).toBe("700");
  expect(await query(postgres.connection, "select 1 as one")).toEqual([{ one: 1 }]);
});

test("names a data directory that it can't write to", async () => {
  const parent = await makeDirectory();
  const file = join(parent, "file");
  await writeFile(file, "");
  const closed = join(parent, "closed");
  await mkdir(closed, { mode: 0o500 });
  const isFile = "it, or a directory above it, is a file";
  // File modes don't restrict root, but the kernel's file system /proc does.
  for (const [dataDirectory, reason] of [
    [file, isFile],
    [join(file, "data"), isFile],
    isRoot ? ["/proc/latchkey", "no such file or directory"] : [join(closed, "data"), "permission denied"],
  ] as const) {
    await expect(openEmbeddedPostgres({ dataDirectory })).rejects.toMatchObject({
      name: "EmbeddedPostgresError",
      kind: "data-directory-not-writable",
      message: `Latchkey cannot write its data directory ${dataDirectory}: ${reason}.`,
    });
  }
});

test("names a directory in the place of the cluster that isn't one, and changes nothing", async () => {
  const dataDirectory = await makeDirectory();
  const other = join(dataDirectory, "postgres");
  await mkdir(other);
  await writeFile(join(other, "notes"), "");
  await expect(openEmbeddedPostgres({ dataDirectory })).rejects.toMatchObject({
    kind: "start-failed",
    message: expect.stringMatching(/postgres exists and isn't a Postgres cluster; move it/),
  });
  expect(await readdir(other)).toEqual(["notes"]);
});

test("rejects a directory that is shared with other users and does not change it", async () => {
  const shared = await makeDirectory();
  await run("chmod", ["1777", shared]);
  await expect(openEmbeddedPostgres({ dataDirectory: shared })).rejects.toMatchObject({
    kind: "data-directory-not-private",
  });
  expect(await modeOf(shared)).toBe("1777");
});

test("reports why an existing cluster can't be used", async () => {
  const dataDirectory = await copyStoppedCluster();
  const cluster = join(dataDirectory, "postgres");

  // In this case, a child process of the postmaster reports the reason.
  await rename(join(cluster, "pg_wal"), join(cluster, "pg_wal.away"));
  await mkdir(join(cluster, "pg_wal"), { mode: 0o700 });
  await chown(join(cluster, "pg_wal"), (await stat(cluster)).uid, (await stat(cluster)).gid);
  await expect(openEmbeddedPostgres({ dataDirectory })).rejects.toMatchObject({
    kind: "start-failed",
    message: expect.stringContaining("could not locate a valid checkpoint record"),
  });
  await writeFile(join(cluster, "postgresql.auto.conf"), "shared_buffers = 'plenty'\n");
  await expect(openEmbeddedPostgres({ dataDirectory })).rejects.toMatchObject({
    kind: "start-failed",
    message: expect.stringMatching(
      /FATAL: .*postgresql\.auto\.conf" contains errors; its log is \/.*\/postgres\.log\.$/,
    ),
  });
  await rm(join(cluster, "latchkey.password"));
  await expect(openEmbeddedPostgres({ dataDirectory })).rejects.toMatchObject({
    kind: "start-failed",
    message: expect.stringContaining("latchkey.password"),
  });
  await writeFile(join(cluster, "PG_VERSION"), "17\n");
  await expect(openEmbeddedPostgres({ dataDirectory })).rejects.toMatchObject({
    kind: "other-version",
    message: expect.stringContaining("made by Postgres 17"),
  });
});
