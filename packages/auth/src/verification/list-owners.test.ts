import type { ConsumerId, KeyspaceId, UserId, WorkspaceId } from "@latchkey/db/ids";
import { expect, test } from "vitest";
import { listOwners } from "./list-owners.ts";
import { caller, keyspaceId, plainKey, workspaceId } from "./verifiable-key.test-kit.ts";
import type { VerifiableKey } from "./verifiable-key.ts";

/** The owners of the keys of these requests. */
const list = (...requests: readonly (readonly (VerifiableKey | undefined)[])[]) =>
  listOwners(requests.map((targets) => ({ address: undefined, caller, verifications: [], targets })));
const user = { id: caller.userId, version: 0 };
const keyspace = { id: keyspaceId, version: 0 };
const workspace = { id: workspaceId, version: 0 };

test("the owners of a key are its keyspace, its workspace and its consumer, besides the user of the caller's key", () => {
  const consumer = { id: "consumer" as ConsumerId, externalId: "acme", version: 4, limits: [] };
  expect(list([plainKey])).toEqual([user, keyspace, workspace]);
  const { id, version } = consumer;
  expect(list([{ ...plainKey, consumer }])).toEqual([user, keyspace, workspace, { id, version }]);
});

test("the only owner of an API key is its user", () => {
  const owner = { id: "another user" as UserId, version: 2 };
  expect(list([{ ...plainKey, owner, workspaceVersion: null }])).toEqual([user, owner]);
});

test("a member without an API key, and a key that wasn't found, have no owners", () => {
  expect(
    listOwners([{ address: undefined, caller: undefined, verifications: [], targets: [undefined] }]),
  ).toEqual([]);
});

test("an owner of several keys is listed once for each version", () => {
  const newer = { ...keyspace, version: 1 };
  const newest = { ...keyspace, version: 2 };
  const other = { id: "other" as KeyspaceId, version: 0 };
  const elsewhere = { id: "elsewhere" as WorkspaceId, version: 0 };
  const owned = [
    { ...plainKey, owner: newer },
    { ...plainKey, owner: newest },
  ];
  expect(
    list(
      [plainKey, ...owned, plainKey],
      [{ ...plainKey, owner: other, workspaceId: elsewhere.id }, ...owned],
    ),
  ).toEqual([user, keyspace, workspace, newer, newest, other, elsewhere]);
});
