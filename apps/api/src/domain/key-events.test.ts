import type { WorkspaceId } from "@latchkey/db/ids";
import { defaultSettings } from "@latchkey/db/key-settings";
import { expect, test } from "vitest";
import { describeCreation, describeEdit } from "./key-events.ts";

const key = { ...defaultSettings, name: "CI" };
const tenant = "01890a5d-ac96-774b-bcce-b302099a8057" as WorkspaceId;

test("a new key is described by its name and restrictions", () => {
  expect(describeCreation(key)).toEqual({ action: "key.created", after: { name: "CI" } });
  const limit = { quota: 100, windowSeconds: 60 };
  expect(describeCreation({ ...key, isReadOnly: true, limit })).toEqual({
    action: "key.created",
    after: { name: "CI", isReadOnly: true, limit },
  });
});

test.each([
  ["nothing", key, key, []],
  [
    "a name",
    key,
    { ...key, name: "Deploys" },
    [{ action: "key.renamed", before: { name: "CI" }, after: { name: "Deploys" } }],
  ],
  ["disabling", key, { ...key, isDisabled: true }, [{ action: "key.disabled" }]],
  ["enabling", { ...key, isDisabled: true }, key, [{ action: "key.enabled" }]],
  [
    "a new restriction",
    key,
    { ...key, workspaceIds: [tenant] },
    [{ action: "key.restricted", before: { workspaceIds: null }, after: { workspaceIds: [tenant] } }],
  ],
  [
    "a restriction that is lifted",
    { ...key, isReadOnly: true },
    key,
    [{ action: "key.expanded", before: { isReadOnly: true }, after: { isReadOnly: false } }],
  ],
  [
    "both at the same time, with the expansion first",
    { ...key, permissions: ["members:read"] },
    { ...key, permissions: null, ipRanges: ["10.0.0.0/8"] },
    [
      { action: "key.expanded", before: { permissions: ["members:read"] }, after: { permissions: null } },
      { action: "key.restricted", before: { ipRanges: null }, after: { ipRanges: ["10.0.0.0/8"] } },
    ],
  ],
  [
    "an equal value in a new array",
    { ...key, ipRanges: ["10.0.0.0/8"] },
    { ...key, ipRanges: ["10.0.0.0/8"] },
    [],
  ],
])("describes an edit of %s", (_what, before, after, events) => {
  expect(describeEdit(before, after)).toEqual(events);
});
