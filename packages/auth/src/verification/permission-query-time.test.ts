import { measureLeastCpuMs } from "@latchkey/db/testing/cpu-time";
import { expect, test } from "vitest";
import { compilePermissions, parsePermissionQuery, satisfies } from "./permission-query.ts";

// Not among the tests that run against mutants, which are slower.

test.each([
  ["none", []],
  [
    "100 that start like the names",
    Array.from({ length: 100 }, (_, index) => `${"a.".repeat(60)}x${index}.*`),
  ],
])(
  "the longest queries of a batch take little time to evaluate, with wildcards: %s",
  async (_which, held) => {
    const names = Array.from({ length: 50 }, (_, index) => `${"a.".repeat(61)}${index}`);
    const query = parsePermissionQuery(names.join(" OR "));
    if (query.kind === "error") throw new Error(query.message);
    const permissions = compilePermissions(held);
    // A batch has room for 35 requests with 14 such queries each, and deciding it blocks the event loop.
    const leastMs = await measureLeastCpuMs(() => {
      for (let count = 0; count < 490; count += 1) expect(satisfies(permissions, query)).toBe(false);
    });
    console.info(`490 queries: ${leastMs} ms`);
    expect(leastMs).toBeLessThan(100);
  },
);
