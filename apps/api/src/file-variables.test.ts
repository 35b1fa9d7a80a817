import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { EnvError, readEnv } from "./env.ts";

const directory = mkdtempSync(join(tmpdir(), "latchkey-env-"));
afterAll(() => rmSync(directory, { recursive: true }));

const secret = "a secret of more than thirty-two characters";
const url = "postgres://ada:swordfish@db.example.com/latchkey";

let count = 0;
function write(content: string): string {
  count += 1;
  const path = join(directory, `file-${count}`);
  writeFileSync(path, content);
  return path;
}

function expectFault(variables: Record<string, string>, message: string): void {
  expect(() => readEnv(variables)).toThrow(new EnvError(message));
}

test.each(["", "\n", "\r\n"])("takes values from files, without a newline at the end (%j)", (end) => {
  const variables = { AUTH_SECRET_FILE: write(secret + end), DATABASE_URL_FILE: write(url + end) };
  expect(readEnv(variables)).toEqual({ ...readEnv({}), authSecret: secret, databaseUrl: url });
});

test("removes only the last newline from the value", () => {
  expect(readEnv({ AUTH_SECRET_FILE: write(` ${secret}\n\n`) }).authSecret).toBe(` ${secret}\n`);
});

test("treats an empty file variable as unset", () => {
  expect(readEnv({ AUTH_SECRET: "", AUTH_SECRET_FILE: write(secret) }).authSecret).toBe(secret);
  expect(readEnv({ AUTH_SECRET: secret, AUTH_SECRET_FILE: "" }).authSecret).toBe(secret);
});

test("rejects a value and a file for the same variable, even if both are equal", () => {
  expectFault(
    { AUTH_SECRET: secret, AUTH_SECRET_FILE: write(secret) },
    "AUTH_SECRET and AUTH_SECRET_FILE are both set: set only one of them.",
  );
});

test("names a file that is missing, can't be read or is empty", () => {
  const missing = join(directory, "missing");
  const empty = write("\n");
  expectFault(
    { DATABASE_URL_FILE: missing },
    `DATABASE_URL_FILE names a file that can't be read: ${missing} (ENOENT).`,
  );
  expectFault(
    { AUTH_SECRET_FILE: directory },
    `AUTH_SECRET_FILE names a file that can't be read: ${directory} (EISDIR).`,
  );
  expectFault({ AUTH_SECRET_FILE: empty }, `AUTH_SECRET_FILE names an empty file: ${empty}.`);
});

test("names every other invalid variable too", () => {
  const missing = join(directory, "missing");
  expectFault(
    { DATABASE_URL_FILE: missing, AUTH_SECRET: "short", AUTH_SECRET_FILE: write(secret), PORT: "http" },
    "AUTH_SECRET and AUTH_SECRET_FILE are both set: set only one of them; " +
      `DATABASE_URL_FILE names a file that can't be read: ${missing} (ENOENT); ` +
      "PORT must be a number from 0 to 65535.",
  );
});

test("names the variable of a file with an invalid value, without the value", () => {
  expectFault(
    { AUTH_SECRET_FILE: write("swordfish") },
    "AUTH_SECRET_FILE must have at least 32 random characters.",
  );
  expectFault(
    { DATABASE_URL_FILE: write("postgres://ada:sword#fish@db.example.com/latchkey") },
    'DATABASE_URL_FILE must not contain "#": write it as "%23", for example in a password.',
  );
});
