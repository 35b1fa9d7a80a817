import { createHash } from "node:crypto";
import {
  chmod,
  cp,
  mkdir,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { sharedDirectory } from "./binaries.ts";
import {
  closeAfterTest,
  copyStoppedCluster,
  isRoot,
  listIncompleteClusters,
  makeDirectory,
  query,
  serverPid,
  startHolder,
} from "./embedded-postgres.test-kit.ts";
import { type EmbeddedPostgres, openEmbeddedPostgres } from "./embedded-postgres.ts";
import { runProgram } from "./run-program.ts";

// Some situations occur only if root runs the tests, and are asserted only then. For other users, the same steps must
// succeed without them.

/** Creates a directory that only its owner may enter. Root's Postgres runs as another user and can't access it. */
async function makeClosedDirectory(parent?: string): Promise<string> {
  const directory = join(await makeDirectory(parent), "closed");
  await mkdir(directory, { mode: 0o700 });
  return directory;
}

/** Opens an embedded Postgres. When the test ends, closes it and removes a home outside the data directory. */
async function open(dataDirectory: string): Promise<EmbeddedPostgres> {
  const postgres = await openEmbeddedPostgres({ dataDirectory });
  removeAfterTest(postgres.location.directory);
  return closeAfterTest(postgres);
}

function removeAfterTest(home: string): void {
  if (home.startsWith(sharedDirectory)) onTestFinished(() => rm(home, { recursive: true, force: true }));
}

function expectHome({ directory, reason }: EmbeddedPostgres["location"], dataDirectory: string): void {
  if (isRoot) expect(directory).toMatch(/^\/var\/lib\/latchkey\/[0-9a-f]{8}-[0-9a-f]{8}$/);
  else expect(directory).toBe(dataDirectory);
  if (isRoot) expect(reason).toBe(`the user that runs Postgres cannot access ${dirname(dataDirectory)}`);
  else expect(reason).toBeUndefined();
}

test("stores the cluster elsewhere if Postgres can't access the data directory, gives the reason and finds the cluster again", async () => {
  const closed = await makeClosedDirectory();
  const dataDirectory = join(closed, "data");
  const first = await open(dataDirectory);
  expectHome(first.location, dataDirectory);
  await query(first.connection, "create table kept ()");
  await first.close();
  expect((await stat(closed)).mode & 0o777).toBe(0o700);
  expect((await stat(first.location.directory)).mode & 0o007).toBe(0);

  // Making the directory accessible doesn't change where the data is, either.
  await chmod(closed, 0o755);
  const second = await open(dataDirectory);
  expect(second.location).toEqual(first.location);
  await query(second.connection, "select from kept");
});

test("processes that open an inaccessible data directory at the same time share one cluster", async () => {
  const dataDirectory = join(await makeClosedDirectory(), "data");
  const holders = await Promise.all([1, 2, 3].map(() => startHolder(dataDirectory)));
  for (const holder of holders) removeAfterTest(holder.report.location.directory);
  const directories = new Set(holders.map((holder) => holder.report.location.directory));
  expect(directories.size).toBe(1);
  expect(holders.filter((holder) => holder.report.kind === "started")).toHaveLength(1);
  for (const holder of holders) expect(await holder.finish()).toBe(0);
  for (const directory of directories) expect(await listIncompleteClusters(directory)).toEqual([]);
  expect(await readdir(dataDirectory)).toEqual([isRoot ? "postgres.place.json" : "postgres"]);
});

test("moves a cluster whose parent directories become inaccessible after its creation", async () => {
  // On the same file system as the location that the cluster moves to.
  const parent = await makeDirectory(tmpdir());
  const dataDirectory = await copyStoppedCluster(parent);
  const first = await open(dataDirectory);
  expect(first.location).toEqual({ directory: dataDirectory });
  await query(first.connection, "create table kept ()");

  // While the cluster runs, it is joined where it is.
  await chmod(parent, 0o700);
  const joined = await open(dataDirectory);
  expect(joined).toMatchObject({ kind: "found", location: { directory: dataDirectory } });
  await joined.close();
  await first.close();

  const moved = await open(dataDirectory);
  expectHome(moved.location, dataDirectory);
  await query(moved.connection, "select from kept");
});

test("names the directory to make accessible if the cluster is on another file system and can't be moved, and leaves nothing behind", async () => {
  const parent = await makeDirectory();
  const dataDirectory = await copyStoppedCluster(parent);
  await chmod(parent, 0o700);
  const devices = await Promise.all(
    [parent, dirname(sharedDirectory)].map(async (path) => (await stat(path)).dev),
  );
  if (isRoot && devices[0] !== devices[1]) {
    await expect(openEmbeddedPostgres({ dataDirectory })).rejects.toMatchObject({
      kind: "not-reachable",
      message:
        `The database in ${dataDirectory} cannot be used, because the user that runs Postgres cannot access ${parent}; ` +
        "give that user access.",
    });
    expect(await readdir(dataDirectory)).toEqual(["postgres"]);
    const hash = createHash("sha256").update(dataDirectory).digest("hex").slice(0, 8);
    expect((await readdir(sharedDirectory)).filter((name) => name.startsWith(hash))).toEqual([]);
    await chmod(parent, 0o755);
  }
  const postgres = await open(dataDirectory);
  await query(postgres.connection, "select");
});

test("names the owner of a cluster that was copied by another user, and moves nothing", async () => {
  const dataDirectory = await copyStoppedCluster();
  const cluster = join(dataDirectory, "postgres");
  const first = await open(dataDirectory);
  await query(first.connection, "create table kept ()");
  await first.close();
  const { uid, gid } = await stat(cluster);
  // The result of `cp -r` as root. Other users can't change the owner of files.
  const taken = await runProgram("chown", ["-R", "0:0", cluster]);
  expect(taken.isSuccess).toBe(isRoot);
  if (isRoot) {
    const rejection = openEmbeddedPostgres({ dataDirectory });
    await expect(rejection).rejects.toMatchObject({
      kind: "other-owner",
      message:
        `The database in ${cluster} belongs to the user with the ID 0, but Postgres runs as the user with the ID ` +
        `${uid}; change the owner (chown -R ${uid}:${gid} ${cluster}), or copy it again and preserve the owner (cp -a).`,
    });
    expect(await readdir(dataDirectory)).toEqual(["postgres"]);
    await runProgram("chown", ["-R", `${uid}:${gid}`, cluster]);
  }
  const again = await open(dataDirectory);
  expect(again.location).toEqual({ directory: dataDirectory });
  await query(again.connection, "select from kept");
});

test("finds its data after the data directory was moved, and starts empty at the old path", async () => {
  const closed = await makeClosedDirectory();
  const first = await open(join(closed, "data"));
  await query(first.connection, "create table kept ()");
  await first.close();
  await rename(join(closed, "data"), join(closed, "moved"));
  const moved = await open(join(closed, "moved"));
  await query(moved.connection, "select from kept");
  const fresh = await open(join(closed, "data"));
  await expect(query(fresh.connection, "select from kept")).rejects.toThrow("does not exist");
});

test("does not start with an empty database if the recorded home no longer exists", async () => {
  const dataDirectory = await makeDirectory();
  const record = { directory: join(dataDirectory, "gone"), reason: "of a test" };
  await writeFile(join(dataDirectory, "postgres.place.json"), JSON.stringify(record));
  await expect(openEmbeddedPostgres({ dataDirectory })).rejects.toMatchObject({
    kind: "cluster-missing",
    message: expect.stringContaining(record.directory),
  });
});

test("ignores the temporary directory of a creation that crashed, and removes an old one", async () => {
  const dataDirectory = await makeDirectory();
  const [old, recent] = [join(dataDirectory, "postgres.tmp-old"), join(dataDirectory, "postgres.tmp-new")];
  for (const path of [old, recent]) await mkdir(join(path, "cluster"), { recursive: true });
  await utimes(old, 0, 0);
  const postgres = await open(dataDirectory);
  expect(postgres.kind).toBe("started");
  expect(await listIncompleteClusters(dataDirectory)).toEqual(["postgres.tmp-new"]);
  // It is removed when it is old enough, although there is a cluster now.
  await utimes(recent, 0, 0);
  expect((await open(dataDirectory)).kind).toBe("found");
  expect(await listIncompleteClusters(dataDirectory)).toEqual([]);
});

test("runs from a project directory that Postgres can't access", async () => {
  // Programs may not be executable on an in-memory file system.
  const project = await makeClosedDirectory(tmpdir());
  const require = createRequire(import.meta.url);
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const installed = dirname(dirname(require.resolve(name)));
  await cp(import.meta.dirname, join(project, "embedded"), { recursive: true });
  await cp(join(import.meta.dirname, "../sqlstate.ts"), join(project, "sqlstate.ts"));
  await cp(installed, join(project, "node_modules", name), { recursive: true, verbatimSymlinks: true });
  await symlink(join(dirname(require.resolve("pg")), ".."), join(project, "node_modules", "pg"));
  await writeFile(join(project, "package.json"), '{ "type": "module" }');
  const { version } = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
  const copy = join(sharedDirectory, `binaries-${version}`);
  if (!(await stat(copy).catch(() => undefined))) {
    onTestFinished(() => rm(copy, { recursive: true, force: true }));
  }
  const dataDirectory = join(project, ".data");
  const holder = await startHolder(dataDirectory, join(project, "embedded", "hold-postgres.fixture.ts"));
  const { directory, reason } = holder.report.location;
  removeAfterTest(directory);
  const running = await serverPid(directory);
  if (process.platform === "linux") {
    const program = await realpath(`/proc/${running}/exe`);
    expect(program).toBe(
      join(isRoot ? copy : join(project, "node_modules", name, "native"), "bin", "postgres"),
    );
  }
  const barrier = `the user that runs Postgres cannot access ${project}`;
  expect(reason).toBe(isRoot ? barrier : undefined);
  expect(holder.report.copiedBinaries).toEqual(
    isRoot ? { directory: copy, reason: `${barrier}/node_modules/${name}` } : undefined,
  );
  expect(await holder.finish()).toBe(0);
  expect(await serverPid(directory)).toBeUndefined();
});
