import { readFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeDatabaseFailure } from "./database-server.ts";

const missing = join(import.meta.dirname, "no-such-directory");

test("a socket that doesn't exist is a failure of the database", async () => {
  const error = await new Promise((resolve) =>
    createConnection(join(missing, "socket")).once("error", resolve),
  );
  expect(describeDatabaseFailure(error)).toMatch(
    /^The database is unavailable or busy: connect ENOENT .*socket\.$/,
  );
});

test("a file that doesn't exist isn't", async () => {
  const error = await readFile(join(missing, "file")).catch((failure: unknown) => failure);
  expect(error).toMatchObject({ code: "ENOENT" });
  expect(describeDatabaseFailure(error)).toBeUndefined();
});
