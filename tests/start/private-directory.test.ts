import { chmod, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { scratchDirectory } from "@latchkey/db/testing/scratch-directory";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Account, type CreatedKey, createKey, findSignedIn, signUp } from "../support/account.ts";
import { runCommandInProcess } from "../support/command.ts";
import { callOpen } from "../support/open-call.ts";
import { clusterOf, findPostmaster, getPostmaster, isAlive } from "../support/postmaster.ts";
import { type ProductNode, startNode } from "../support/product.ts";
import { untilAnswered } from "../support/until-answered.ts";

// If root starts a node, Postgres runs as another user, who can't enter a directory that only root can enter. For
// other users, such a directory is like any other.

const isRoot = process.getuid?.() === 0;

let directory: string;
let dataDirectory: string;
let otherDataDirectory: string;
let node: ProductNode;
let account: Account;
let created: CreatedKey;

beforeAll(async () => {
  directory = await mkdtemp(join(scratchDirectory, "latchkey-test-"));
  await chmod(directory, 0o700);
  dataDirectory = join(directory, "data");
  otherDataDirectory = join(directory, "other data");
  node = await startNode({ DATA_DIR: dataDirectory });
  account = await signUp(node.baseUrl);
  created = await createKey(node.baseUrl, account, "first");
});

afterAll(async () => {
  await node?.stop();
  for (const each of [dataDirectory, otherDataDirectory]) {
    const home = await findHome(each);
    if (home !== each) await rm(home, { recursive: true, force: true });
  }
  await rm(directory, { recursive: true, force: true });
});

/** The location of the data: the one that the data directory names, or the data directory itself. */
async function findHome(usual = dataDirectory): Promise<string> {
  const record = await readFile(join(usual, "postgres.place.json"), "utf8").catch(() => undefined);
  return record ? (JSON.parse(record) as { directory: string }).directory : usual;
}

async function expectAdmitted(): Promise<void> {
  expect((await untilAnswered(() => callOpen(node.baseUrl, created.key))).status).toBe(200);
}

test("starts in a directory that no other user can enter, and prints where the data is", async () => {
  const home = await findHome();
  expect(home.startsWith("/var/lib/latchkey/")).toBe(isRoot);
  expect(node.output().includes(`Its data is in ${home}, because `)).toBe(isRoot);
  expect((await stat(home)).mode & 0o007).toBe(0);
  await expectAdmitted();
});

test("a command that creates a database there prints where its data is", async () => {
  const { status, stderr } = await runCommandInProcess(["migrate"], { DATA_DIR: otherDataDirectory });
  const home = await findHome(otherDataDirectory);
  expect({ status, stderr }).toEqual({
    status: 0,
    stderr: expect.stringContaining(
      isRoot
        ? `Created a Latchkey database in ${otherDataDirectory}. Its data is in ${home}, because `
        : `Created a Latchkey database in ${otherDataDirectory}.\n`,
    ),
  });
});

test("finds the data again after a restart, and stops its Postgres", async () => {
  const cluster = clusterOf(await findHome());
  await node.stop();
  expect(await findPostmaster(cluster)).toBeUndefined();
  node = await startNode({ DATA_DIR: dataDirectory });
  const postmaster = await getPostmaster(cluster);
  expect(await findSignedIn(node.baseUrl, account)).toBe(account.email);
  await expectAdmitted();
  expect(await node.stop("SIGINT")).toBe(0);
  expect(await isAlive(postmaster)).toBe(false);
});
