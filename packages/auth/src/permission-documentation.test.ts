import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { permissionCatalog, roleCatalog, roleHasPermission, roles } from "./permissions.ts";

test("the table in docs/tenants.md matches the permissions of each role", async () => {
  const page = await readFile(new URL("../../../docs/tenants.md", import.meta.url), "utf8");
  const rows = [
    ...page.matchAll(/^\| `(.+?)` +\| (.+?) +\| (yes|no) +\| (yes|no) +\| (yes|no) +\| (yes|no) +\|$/gm),
  ];
  expect(rows.map(([, name, words, ...held]) => [name, words, ...held])).toEqual(
    Object.entries(permissionCatalog).map(([name, words]) => [
      name,
      words,
      ...roles.map((role) =>
        roleHasPermission(role, name as keyof typeof permissionCatalog) ? "yes" : "no",
      ),
    ]),
  );
});

test("the table of roles in docs/tenants.md matches the catalog", async () => {
  const page = await readFile(new URL("../../../docs/tenants.md", import.meta.url), "utf8");
  const rows = [...page.matchAll(/^\| (owner|admin|member|viewer) +\| (.+?) +\|$/gm)];
  expect(rows.map(([, role, words]) => [role, words])).toEqual(Object.entries(roleCatalog));
});
