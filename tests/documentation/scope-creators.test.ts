import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { projectRoot } from "../support/product.ts";

/** The functions in a file that call `mintWorkspaceScope`. */
function findScopeCreators(source: string): string[] {
  const functions = source.split(/^(?=(?:export )?(?:async )?function )/m);
  return functions
    .filter((text) =>
      /\bmintWorkspaceScope\(/.test(text.replace(/^export function mintWorkspaceScope\(/, "")),
    )
    .map((text) => /function (\w+)/.exec(text)?.[1] ?? "code outside of a function");
}

test("docs/tenants.md names exactly the functions that create a scope", async () => {
  const scopeCreators: string[] = [];
  for (const folder of ["packages/db/src", "packages/auth/src", "apps/api/src"]) {
    for (const file of await readdir(join(projectRoot, folder), { recursive: true })) {
      if (!/(?<!\.test|\.test-kit)\.ts$/.test(file)) continue;
      scopeCreators.push(...findScopeCreators(await readFile(join(projectRoot, folder, file), "utf8")));
    }
  }
  const documented = (await readFile(join(projectRoot, "docs/tenants.md"), "utf8"))
    .split(" functions create a scope, and")[1]
    ?.split("A scope proves")[0]
    ?.matchAll(/- `(\w+)`/g);
  expect([...(documented ?? [])].map(([, name]) => name).sort()).toEqual(scopeCreators.sort());
});
