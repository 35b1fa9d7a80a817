import { expect, test } from "vitest";
import type { ApiKey } from "../../../server/trpc.ts";
import { describeExpansions, describeLimit, describePermissions } from "./describe-restrictions.ts";

test.each([
  [null, "No rate limit"],
  [{ quota: 1, windowSeconds: 1 }, "1 request per second"],
  [{ quota: 1_000, windowSeconds: 3_600 }, "1,000 requests per hour"],
  [{ quota: 5, windowSeconds: 90 }, "5 requests per 90 seconds"],
])("describes the rate limit %j as “%s”", (limit, words) => {
  expect(describeLimit(limit)).toBe(words);
});

test("describes read-only keys, keys with selected permissions, and both", () => {
  expect(describePermissions({ permissions: null, isReadOnly: true }, false)).toBe("Read only");
  expect(describePermissions({ permissions: ["audit:read"], isReadOnly: false }, false)).toBe("audit:read");
  expect(describePermissions({ permissions: ["audit:read"], isReadOnly: true }, false)).toBe(
    "Read only, limited to audit:read",
  );
});

test("names the role that limits a key without selected permissions", () => {
  const all = { permissions: null, isReadOnly: false };
  expect(describePermissions(all, false)).toBe("All permissions of your role");
  expect(describePermissions(all, true)).toBe("All permissions of the service account’s role");
});

test("describes only the named settings, each with its values before and after", () => {
  const facts = { isReadOnly: true, ipRanges: ["10.0.0.0/8"], limit: null, expiresAt: null };
  const key = facts as Partial<ApiKey> as ApiKey; // The only members that are read.
  const settings = { isReadOnly: false, ipRanges: null, expiresAt: { inSeconds: 3_600 } };
  const names = ["ipRanges", "isReadOnly", "expiresAt"];
  expect(describeExpansions(key, settings, { names, workspaces: [] })).toEqual([
    { label: "IP ranges", before: "10.0.0.0/8", after: "Any IP address" },
    { label: "Read only", before: "Yes", after: "No, it can also change data" },
    { label: "Expires", before: "Never", after: "In 1 hour" },
  ]);
});
