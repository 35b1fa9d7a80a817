import type { ConsumerId, IssuedKeyId, WorkspaceId } from "@latchkey/db/ids";
import { expect, test } from "vitest";
import { listIsolationNames, listWorkspaceIds } from "./isolation-names.ts";
import { caller, plainKey, workspaceId } from "./verifiable-key.test-kit.ts";

test("a request is isolated by its counters, and by the workspaces of the keys with a counter that meets a condition", () => {
  const consumer = { id: "consumer" as ConsumerId, externalId: "acme", version: 0, limits: [] };
  const other = { ...plainKey, keyId: "other" as IssuedKeyId, workspaceId: "elsewhere" as WorkspaceId };
  const request = { caller, targets: [{ ...plainKey, consumer }, undefined, other] };
  const counters = [caller.keyId, plainKey.keyId, other.keyId];
  expect(listIsolationNames(request)).toEqual([...counters, workspaceId, "elsewhere"]);
  expect(listWorkspaceIds(request, (id) => id === plainKey.keyId)).toEqual([workspaceId]);
  expect(listWorkspaceIds(request, (id) => id === consumer.id)).toEqual([workspaceId]);
  expect(listWorkspaceIds(request, (id) => id === other.keyId)).toEqual(["elsewhere"]);
  expect(listWorkspaceIds(request, () => false)).toEqual([]);
});
