import { expect, test } from "vitest";
import type { ApiKey } from "../../../server/trpc.ts";
import { describeLimit, describePermissions, describeWidening } from "./describe-restrictions.ts";

test.each([
  [null, "No rate limit"],
  [{ quota: 1, windowSeconds: 1 }, "1 request per second"],
  [{ quota: 1_000, windowSeconds: 3_600 }, "1,000 requests per hour"],
  [{ quota: 5, windowSeconds: 90 }, "5 requests per 90 seconds"],
])("says %j as “%s”", (limit, words) => {
  expect(describeLimit(limit)).toBe(words);
});

test("says what a key may do, whether it is held to reading or to a list, or both", () => {
  expect(describePermissions({ permissions: null, isReadOnly: true })).toBe("Read only");
  expect(describePermissions({ permissions: ["audit:read"], isReadOnly: false })).toBe("audit:read");
  expect(describePermissions({ permissions: ["audit:read"], isReadOnly: true })).toBe(
    "Read only, of audit:read",
  );
});

test("names each setting that is widened, as it was and as it would be, and no other", () => {
  const facts = { isReadOnly: true, ipRanges: ["10.0.0.0/8"], limit: null, expiresAt: null };
  const key = facts as Partial<ApiKey> as ApiKey; // All it reads.
  const settings = { isReadOnly: false, ipRanges: null, expiresAt: { inSeconds: 3_600 } };
  const names = ["ipRanges", "isReadOnly", "expiresAt"];
  expect(describeWidening(key, settings, { names, own: [] })).toEqual([
    { label: "IP ranges", before: "10.0.0.0/8", after: "Any IP address" },
    { label: "Read only", before: "Yes", after: "No, it can also change data" },
    { label: "Expires", before: "Never", after: "In 1 hour" },
  ]);
});
