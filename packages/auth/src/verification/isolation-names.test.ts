import type { ConsumerId, IssuedKeyId, WorkspaceId } from "@latchkey/db/ids";
import { expect, test } from "vitest";
import { listIsolationNames, listWorkspaceIds } from "./isolation-names.ts";
import { caller, plainKey, workspaceId } from "./verifiable-key.test-kit.ts";
import { nameRequest } from "./verifier.test-kit.ts";

test("a request is isolated by its counters, and by the workspaces of the keys with a counter that meets a condition", () => {
  const consumer = { id: "consumer" as ConsumerId, externalId: "acme", version: 0, limits: [] };
  const other = { ...plainKey, keyId: "other" as IssuedKeyId, workspaceId: "elsewhere" as WorkspaceId };
  const request = { caller, name: undefined, targets: [{ ...plainKey, consumer }, undefined, other] };
  const counters = [caller.keyId, plainKey.keyId, other.keyId];
  expect(listIsolationNames(request)).toEqual([...counters, workspaceId, "elsewhere"]);
  expect(listWorkspaceIds(request, (id) => id === plainKey.keyId)).toEqual([workspaceId]);
  expect(listWorkspaceIds(request, (id) => id === consumer.id)).toEqual([workspaceId]);
  expect(listWorkspaceIds(request, (id) => id === other.keyId)).toEqual(["elsewhere"]);
  expect(listWorkspaceIds(request, () => false)).toEqual([]);
});

test("a request with an Idempotency-Key is also isolated by its user", () => {
  const request = { caller, targets: [plainKey] };
  const names = [caller.keyId, plainKey.keyId, workspaceId];
  expect(listIsolationNames({ ...request, name: undefined })).toEqual(names);
  expect(listIsolationNames({ ...request, name: nameRequest("name") })).toEqual([...names, caller.userId]);
  // A member without an API key sends none.
  expect(listIsolationNames({ ...request, caller: undefined, name: nameRequest("name") })).toEqual(
    names.slice(1),
  );
});
