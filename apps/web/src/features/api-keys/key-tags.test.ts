import { expect, test } from "vitest";
import type { ApiKey } from "../../server/trpc.ts";
import { listTags } from "./key-tags.tsx";

const now = new Date("2026-03-15T12:00:00Z");
const free = {
  isDisabled: false,
  expiresAt: null,
  limit: null,
  isReadOnly: false,
  workspaceIds: null,
  permissions: null,
  ipRanges: null,
} as Partial<ApiKey> as ApiKey; // All that is read.

test.each<[Partial<ApiKey>, readonly string[]]>([
  [{}, []],
  [{ isDisabled: true }, ["Disabled"]],
  [{ expiresAt: "2026-03-15T12:00:00Z" }, ["Expired"]],
  [{ expiresAt: "2026-03-15T12:00:01Z" }, []],
  [{ limit: { quota: 1, windowSeconds: 1 }, isReadOnly: true }, ["Rate limited", "Read only"]],
  [{ ipRanges: ["10.0.0.0/8"], permissions: ["audit:read"] }, ["Restricted"]],
])("tags a key with %j as %j", (facts, tags) => {
  expect(listTags({ ...free, ...facts }, now)).toEqual(tags);
});
