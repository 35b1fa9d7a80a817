import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Writable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { createLogger } from "./create-logger.ts";
import { LogDestination } from "./log-destination.ts";

async function createDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "latchkey-log-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  return directory;
}

test("a line is written immediately if requests aren't logged", async () => {
  const path = join(await createDirectory(), "log");
  const destination = openSync(path, "w");
  const log = createLogger("info", new LogDestination({ fd: destination, isBatched: false }));
  log.debug("hidden");
  log.info("a line");
  expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ msg: "a line" });
});

test.each([true, false])(
  "logs an error without the row that Postgres quotes (request log: %s)",
  async (hasRequestLog) => {
    const path = join(await createDirectory(), "log");
    const destination = openSync(path, "w");
    const log = createLogger("info", new LogDestination({ fd: destination, isBatched: hasRequestLog }));
    const quoted = { detail: "Failing row contains (ada@example.com).", where: "row", internalQuery: "row" };
    log.error({ err: Object.assign(new Error("violates a constraint"), { code: "23514", ...quoted }) });
    await expect.poll(() => readFileSync(path, "utf8")).toContain("\n");
    const { err } = JSON.parse(readFileSync(path, "utf8"));
    expect(Object.keys(err).sort()).toEqual(["code", "message", "stack", "type"]);
  },
);

test("lines are written within a second if requests are logged", async () => {
  const path = join(await createDirectory(), "log");
  const destination = openSync(path, "w");
  const log = createLogger("info", new LogDestination({ fd: destination, isBatched: true }));
  log.info("a line");
  await expect.poll(() => readFileSync(path, "utf8")).toContain("a line");
});

const imports = `
  import { createLogger } from ${JSON.stringify(import.meta.resolve("./create-logger.ts"))};
  import { LogDestination } from ${JSON.stringify(import.meta.resolve("./log-destination.ts"))};
`;

/** Logs 10,000 lines without a pause, and runs until its standard input ends. */
const floodingProcess = `
  ${imports}
  const log = createLogger("info", new LogDestination({ isBatched: true, maxPendingBytes: 100_000 }));
  for (let count = 0; count < 10_000; count += 1) log.info({ padding: "x".repeat(50) }, "a line");
  process.stdin.resume();
  process.stdin.on("end", () => log.info("the last line"));
`;

test("drops lines for a slow reader without delay, and logs how many", async () => {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", floodingProcess], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill());
  let lines = 0;
  let dropped = 0;
  let last = "";
  createInterface(child.stdout).on("line", (line) => {
    const { msg, count } = JSON.parse(line) as { msg: string; count?: number };
    last = msg;
    if (msg === "a line") lines += 1;
    else dropped += count ?? 0;
  });
  await expect.poll(() => lines + dropped).toBe(10_000);
  expect(dropped).toBeGreaterThan(0);
  // Pending lines are written when the process ends.
  child.stdin.end();
  await once(child, "close");
  expect(last).toBe("the last line");
});

test.each([true, false])(
  "a full disk ends neither the node nor its exit (request log: %s)",
  async (hasRequestLog) => {
    const loggingProcess = `
    ${imports}
    const log = createLogger("info", new LogDestination({ isBatched: ${hasRequestLog}, maxPendingBytes: 100_000 }));
    const write = () => {
      for (let count = 0; count < 10_000; count += 1) log.info({ padding: "x".repeat(50) }, "a line");
    };
    write();
    process.stdin.on("data", () => { write(); process.stderr.write("alive"); });
  `;
    const full = openSync("/dev/full", "w");
    const child = spawn(process.execPath, ["--input-type=module", "--eval", loggingProcess], {
      stdio: ["pipe", full, "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const closed = once(child, "close");
    child.stdin?.write("again");
    const [text] = await once(child.stderr ?? child, "data");
    expect(String(text)).toBe("alive");
    child.stdin?.end();
    expect(await closed).toEqual([0, null]);
  },
);

test.each([true, false])(
  "a reader that has stopped delays neither the process nor its exit (request log: %s)",
  async (hasRequestLog) => {
    const loggingProcess = `
    ${imports}
    const destination = new LogDestination({ isBatched: ${hasRequestLog}, maxPendingBytes: 1_000_000 });
    const log = createLogger("info", destination);
    const write = () => {
      for (let count = 0; count < 10_000; count += 1) log.info({ padding: "x".repeat(50) }, "a line");
    };
    write();
    process.stdin.on("data", () => { write(); process.stderr.write("alive"); });
    process.stdin.on("end", () => void destination.close().then(() => process.exit()));
  `;
    /** Starts the process with this reader of its log. */
    const start = (reader: ChildProcessByStdio<Writable, null, null>) => {
      onTestFinished(() => void reader.kill("SIGKILL"));
      const child = spawn(process.execPath, ["--input-type=module", "--eval", loggingProcess], {
        stdio: ["pipe", reader.stdin, "pipe"],
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      // Only the process keeps the pipe open, so that its reader ends with it.
      reader.stdin.destroy();
      const closed = once(child, "close");
      let output = "";
      child.stderr.on("data", (chunk) => {
        output += chunk;
      });
      return {
        child,
        readOutput: () => output,
        /** Ends its input. Returns how it exited, and how long that took, in milliseconds. */
        async end() {
          const endedAt = performance.now();
          child.stdin.end();
          return { exit: await closed, tookMs: performance.now() - endedAt };
        },
      };
    };
    const stdio = ["pipe", "ignore", "ignore"] as const;
    // The reader stays stopped for longer than this test may take.
    const stopped = start(spawn("sleep", ["600"], { stdio: [...stdio] }));
    const read = start(spawn("cat", { stdio: [...stdio] }));
    for (const { child, readOutput } of [stopped, read]) {
      child.stdin.write("again");
      await expect.poll(readOutput).toBe("alive");
    }
    const [ended, other] = await Promise.all([stopped.end(), read.end()]);
    expect([ended.exit, other.exit]).toEqual([
      [0, null],
      [0, null],
    ]);
    // The exit waits for the reader for a second. A busy machine delays the other exit too.
    expect(ended.tookMs).toBeLessThan(3_000 + other.tookMs);
    expect(stopped.readOutput()).toContain("The last log lines could not be written.");
    expect(read.readOutput()).toBe("alive");
  },
);

test.each([true, false])(
  "lines that were dropped just before the exit are counted (request log: %s)",
  async (hasRequestLog) => {
    const loggingProcess = `
    ${imports}
    const destination = new LogDestination({ isBatched: ${hasRequestLog}, maxPendingBytes: 100_000 });
    const log = createLogger("info", destination);
    for (let count = 0; count < 10_000; count += 1) log.info({ padding: "x".repeat(50) }, "a line");
    void destination.close().then(() => process.exit());
  `;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", loggingProcess], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines: { readonly msg: string; readonly count?: number }[] = [];
    createInterface(child.stdout).on("line", (line) => lines.push(JSON.parse(line)));
    await once(child, "close");
    const dropped = lines.at(-1)?.count ?? 0;
    expect(dropped).toBeGreaterThan(0);
    expect(lines.length - 1 + dropped).toBe(10_000);
  },
);
