import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EmbeddedPostgresError } from "@latchkey/db/embedded-postgres-error";
import { expect, test } from "vitest";
import { explainFailure } from "./explain-failure.ts";

test("says which file can't be read, and why", async () => {
  const path = join(tmpdir(), "latchkey-missing", "keys.csv");
  const error: unknown = await readFile(path).catch((reason: unknown) => reason);
  expect(explainFailure(error)).toEqual({
    code: "BAD_REQUEST",
    message: `Can't access ${path}: no such file or directory.`,
  });
});

test("says why output can't be written", () => {
  const error = Object.assign(new Error("ENOSPC: no space left on device, write"), {
    code: "ENOSPC",
    errno: -28,
    syscall: "write",
  });
  expect(explainFailure(error)).toEqual({
    code: "BAD_REQUEST",
    message: 'The operation "write" failed: no space left on device.',
  });
});

test("says why the embedded Postgres wasn't stopped", () => {
  const message = "The embedded Postgres did not stop within 60 s.";
  expect(explainFailure(new EmbeddedPostgresError("stop-failed", message))).toEqual({
    code: "SERVICE_UNAVAILABLE",
    message,
  });
});

test("a database that can't be reached isn't a file", async () => {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  connect(1, "127.0.0.1").on("error", resolve);
  expect(explainFailure(await promise)).toMatchObject({ code: "SERVICE_UNAVAILABLE" });
});

test("doesn't reveal an unexpected error", () => {
  expect(explainFailure(new TypeError("x is not a function"))).toEqual({
    code: "INTERNAL_SERVER_ERROR",
    message: "Internal server error",
  });
});
