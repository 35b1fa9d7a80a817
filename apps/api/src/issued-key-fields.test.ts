import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { IssuedFieldName } from "@latchkey/db/issued-key-settings";
import { keyFileFields } from "@latchkey/key-file/key-file-fields";
import { expect, test } from "vitest";
import { createProgram } from "./cli/program.ts";
import { projectRoot, readEnv } from "./env.ts";
import { newIssuedKeyFields } from "./issued-key-fields.ts";

// What isn't generated from the fields of an issued key, and isn't compiled with them either.

const names = Object.keys(newIssuedKeyFields).sort();

test("a file to import can have every field of a new key", () => {
  expect([...keyFileFields].sort()).toEqual(["hash", "start", ...names].sort());
});

test("the table in docs/keyspaces.md describes every field of a new key, and no other", async () => {
  const text = await readFile(join(projectRoot, "docs/keyspaces.md"), "utf8");
  const section = text.split(/^## /m).find((part) => part.startsWith("Issue a key\n")) ?? "";
  const rows = [...section.matchAll(/^\| `(\w+)` +\| .+\|$/gm)];
  expect(rows.map(([, name]) => name).sort()).toEqual(names);
});

/** The options of `issued-key create`. Fields without one are those of the keyspace, and can be changed in the app or by the API. */
const options: Readonly<Record<IssuedFieldName, readonly string[]>> = {
  name: ["--name"],
  externalId: ["--external-id"],
  meta: [],
  permissions: ["--permission"],
  limits: [],
  credits: ["--credits"],
  expiresAt: ["--expires-at", "--expires-in"],
  isDisabled: [],
  ipRanges: ["--ip"],
};

test("`latchkey issued-key create` has the options of each field, and no other", () => {
  const program = createProgram({ ...process, loadEnv: async () => readEnv({}) });
  const find = (parent: typeof program | undefined, name: string) =>
    parent?.commands.find((command) => command.name() === name);
  const create = find(find(program, "issued-key"), "create");
  const flags = create?.options.map(({ long }) => long).filter((flag) => flag !== "--keyspace");
  expect(flags?.sort()).toEqual(Object.values(options).flat().sort());
});
