import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { permissionCatalog, roleHolds, roles } from "./permissions.ts";

test("the table in docs/tenants.md matches the permissions of each role", async () => {
  const page = await readFile(new URL("../../../docs/tenants.md", import.meta.url), "utf8");
  const rows = [
    ...page.matchAll(/^\| `(.+?)` +\| (.+?) +\| (yes|no) +\| (yes|no) +\| (yes|no) +\| (yes|no) +\|$/gm),
  ];
  expect(rows.map(([, name, words, ...held]) => [name, words, ...held])).toEqual(
    Object.entries(permissionCatalog).map(([name, words]) => [
      name,
      words,
      ...roles.map((role) => (roleHolds(role, name as keyof typeof permissionCatalog) ? "yes" : "no")),
    ]),
  );
});
