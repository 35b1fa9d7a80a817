import { readFile } from "node:fs/promises";
import { createConnection } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createLocationNote, describeDatabaseFailure } from "./database-server.ts";

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

test("the note about the embedded Postgres gives each reason with what it is about", () => {
  const home = { directory: "/var/lib/latchkey/home", reason: "the user cannot access /data" };
  const copiedBinaries = { directory: "/var/lib/latchkey/binaries", reason: "the user cannot access /opt" };
  const data = "Its data is in /var/lib/latchkey/home, because the user cannot access /data.";
  const programs =
    "Postgres runs from a copy in /var/lib/latchkey/binaries, because the user cannot access /opt.";
  expect([
    createLocationNote({ location: { directory: "/data" }, copiedBinaries: undefined }),
    createLocationNote({ location: home, copiedBinaries: undefined }),
    createLocationNote({ location: { directory: "/data" }, copiedBinaries }),
    createLocationNote({ location: home, copiedBinaries }),
  ]).toEqual([undefined, data, programs, `${data} ${programs}`]);
});
