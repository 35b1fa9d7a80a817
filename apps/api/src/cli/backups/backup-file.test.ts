import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { findFreePort } from "@latchkey/db/testing/free-port";
import { expect, onTestFinished, test } from "vitest";
import { writeBackupFile } from "./backup-file.ts";

const { signal } = new AbortController();

async function createDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "latchkey-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

test("writes the compressed chunks to a file that only its owner can read", async () => {
  const path = join(await createDirectory(), "a.backup");
  async function* chunks() {
    yield Buffer.from("first, ");
    yield Buffer.from("second");
  }
  const size = await writeBackupFile(path, chunks(), signal);
  const content = await readFile(path);
  expect(gunzipSync(content).toString()).toBe("first, second");
  expect(size).toBe(content.length);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});

test("reports a refused connection as a connection error, and leaves no file", async () => {
  const directory = await createDirectory();
  const port = await findFreePort();
  async function* chunks() {
    yield Buffer.from("header\n");
    await once(connect(port, "127.0.0.1"), "connect");
  }
  const written = writeBackupFile(join(directory, "a.backup"), chunks(), signal);
  await expect(written).rejects.toMatchObject({ name: "Error", code: "ECONNREFUSED", syscall: "connect" });
  expect(await readdir(directory)).toEqual([]);
});
