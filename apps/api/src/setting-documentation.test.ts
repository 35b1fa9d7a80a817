import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { settingNames } from "@latchkey/db/key-settings";
import { keyFileFields } from "@latchkey/key-file/key-file-fields";
import { expect, test } from "vitest";
import { projectRoot } from "./env.ts";
import { newIssuedKeyFields } from "./issued-key-fields.ts";

// Compares documentation and lists that are neither generated from the settings of a key nor checked by the compiler.

const issuedFields = Object.keys(newIssuedKeyFields);

test.each<[string, string, string, readonly string[]]>([
  ["an issued key", "keyspaces.md", "Issue a key", issuedFields],
  ["an API key", "api-keys.md", "Restrict a key", settingNames],
])("the settings of %s in docs/%s are complete", async (_what, file, heading, names) => {
  const text = await readFile(join(projectRoot, "docs", file), "utf8");
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
  const rows = [...section.matchAll(/^\| `(\w+)` +\| .+\|$/gm)];
  expect(rows.map(([, name]) => name).sort()).toEqual([...names].sort());
});

test("a file to import can have every field of a new key", () => {
  expect([...keyFileFields].sort()).toEqual(["hash", "start", ...issuedFields].sort());
});
