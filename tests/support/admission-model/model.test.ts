import { expect, test } from "vitest";
import { AdmissionModel, type KeyModel, type SessionModel, type UserModel } from "./model.ts";

interface Scene {
  readonly model: AdmissionModel;
  readonly user: UserModel;
  readonly session: SessionModel;
  readonly key: KeyModel;
}

function begin(): Scene {
  const model = new AdmissionModel();
  const user = model.addUser("ada@example.com");
  const session = model.beginSignIn(user)("done");
  const key = model.beginCreation(session, "first")({ id: "key_1" });
  if (!key) throw new Error("The model made no key.");
  return { model, user, session, key };
}

test("a valid key is admitted", () => {
  const { model, key } = begin();
  model.beginUse(key)("admitted");
  expect(() => model.beginUse(key)("rejected")).toThrow(
    "The model doesn't allow this: a use of key_1 was rejected",
  );
});

test("a use that begins after a change was acknowledged sees it", () => {
  const { model, user, session, key } = begin();
  model.beginDisabling(user)();
  model.beginUse(key)("rejected");
  expect(() => model.beginUse(key)("admitted")).toThrow("a use of key_1 was admitted");
  model.beginEnabling(user)();
  model.beginUse(key)("admitted");
  expect(() => model.beginUse(key)("rejected")).toThrow("a use of key_1 was rejected");
  const anew = model.beginSignIn(user)("done");
  expect(session.isOpen.possible).toContain(false);
  model.beginDeletion(anew, key)("done");
  expect(() => model.beginUse(key)("admitted")).toThrow("a use of key_1 was admitted");
});

test("a use that is concurrent with a change may see the state before or after it", () => {
  for (const outcome of ["admitted", "rejected"] as const) {
    const { model, user, key } = begin();
    const before = model.beginUse(key);
    const acknowledge = model.beginDisabling(user);
    const during = model.beginUse(key);
    const inside = model.beginUse(key);
    inside(outcome);
    acknowledge();
    before(outcome);
    during(outcome);
    expect(model.figures).toMatchObject({ [outcome]: 3, open: 3 });
  }
});

test("a use during which a user was disabled and enabled again may be admitted or rejected", () => {
  const { model, user, key } = begin();
  const use = model.beginUse(key);
  model.beginDisabling(user)();
  model.beginEnabling(user)();
  use("rejected");
});

test("a use of a deleted key is rejected, even if its user is enabled again", () => {
  const { model, user, session, key } = begin();
  model.beginDeletion(session, key)("done");
  const use = model.beginUse(key);
  model.beginDisabling(user)();
  model.beginEnabling(user)();
  expect(() => use("admitted")).toThrow("was admitted");
});

test("an edit needs a live session and an existing key", () => {
  const { model, user, session, key } = begin();
  expect(() => model.beginRenaming(session, key, "second")("rejected")).toThrow("was rejected");
  expect(() => model.beginRenaming(session, key, "second")("missing")).toThrow("was missing");
  model.beginRenaming(session, key, "second")("done");
  model.beginDeletion(session, key)("done");
  model.beginDeletion(session, key)("missing");
  expect(() => model.beginDeletion(session, key)("done")).toThrow("was done");
  model.beginDisabling(user)();
  model.beginCreation(session, "third")("rejected");
  expect(() => model.beginCreation(session, "third")({ id: "key_2" })).toThrow("a creation was done");
  expect(() => model.beginSignIn(user)("done")).toThrow("a sign-in of ada@example.com was done");
});

test("a session that disabling ended stays ended", () => {
  const { model, user, session } = begin();
  model.beginDisabling(user)();
  model.beginEnabling(user)();
  model.beginListing(session)("rejected");
  expect(() => model.beginListing(session)([])).toThrow("a list was read");
});

test("a list shows the existing keys with their latest names", () => {
  const { model, session, key } = begin();
  const list = (name: string) => model.beginListing(session)([{ id: key.id, name, usageCount: 0 }]);
  model.beginRenaming(session, key, "second")("done");
  list("second");
  expect(() => list("first")).toThrow('listed as "first"');
  expect(() => model.beginListing(session)([])).toThrow("key_1 was not listed");
  model.beginDeletion(session, key)("done");
  expect(() => list("second")).toThrow("key_1 was listed");
});

test("admitted uses are counted, rejected uses aren't, and uses with an unknown outcome may be", () => {
  const { model, user, session, key } = begin();
  const list = (usageCount: number) =>
    model.beginListing(session)([{ id: key.id, name: "first", usageCount }]);
  model.beginUse(key)("admitted");
  list(1);
  expect(() => list(0)).toThrow("0 uses of key_1 were counted, and not 1 to 1");
  expect(() => list(2)).toThrow("2 uses of key_1 were counted, and not 1 to 1");
  const use = model.beginUse(key);
  list(1);
  list(2);
  use("unknown");
  model.expectFinalCount(key, 1);
  model.expectFinalCount(key, 2);
  expect(() => model.expectFinalCount(key, 3)).toThrow("not 1 to 2");
  model.beginDisabling(user)();
  model.beginUse(key)("rejected");
  expect(() => model.expectFinalCount(key, 3)).toThrow("not 1 to 2");
});

test("a use that begins after a role change was acknowledged has the permissions of the new role", () => {
  const { model, user, key } = begin();
  const expectUses = (see: "admitted" | "rejected", audit: "admitted" | "rejected"): void => {
    for (const [requirement, outcome] of [
      ["read", see],
      ["audit", audit],
    ] as const) {
      model.beginUse(key, requirement)(outcome);
      const other = outcome === "admitted" ? "rejected" : "admitted";
      expect(() => model.beginUse(key, requirement)(other)).toThrow(`a use of key_1 was ${other}`);
    }
    model.beginUse(key)("admitted");
  };
  expectUses("rejected", "rejected");
  model.beginRoleChange(user, undefined, "viewer")();
  expectUses("admitted", "rejected");
  const end = model.beginRoleChange(user, "viewer", "admin");
  model.beginUse(key, "audit")("admitted");
  model.beginUse(key, "audit")("rejected");
  end();
  expectUses("admitted", "admitted");
  model.beginRoleChange(user, "admin", undefined)();
  expectUses("rejected", "rejected");
  expect(model.figures).toMatchObject({ additions: 1, roleChanges: 1, removals: 1 });
});

test("a use in the workspace depends on its block of the key and on its policy", () => {
  const { model, user, key } = begin();
  model.beginRoleChange(user, undefined, "admin")();
  const expectUse = (outcome: "admitted" | "rejected"): void => {
    model.beginUse(key, "audit")(outcome);
    const other = outcome === "admitted" ? "rejected" : "admitted";
    expect(() => model.beginUse(key, "audit")(other)).toThrow(`a use of key_1 was ${other}`);
    model.beginUse(key)("admitted");
  };
  const end = model.beginWorkspaceChange(key, "blocks", { isBlocked: true, age: "new" });
  model.beginUse(key, "audit")("admitted");
  model.beginUse(key, "audit")("rejected");
  end(true);
  expectUse("rejected");
  model.beginWorkspaceChange(key, "unblocks", { isBlocked: false, age: "new" })(true);
  expectUse("admitted");
  model.beginWorkspaceChange(key, "blocks", { isBlocked: true, age: "new" })(false);
  expectUse("admitted");
  for (const policy of ["expiry-required", "max-lifetime", "ip-ranges-required"] as const) {
    model.beginPolicy(policy)();
    expectUse("rejected");
  }
  model.beginPolicy("idle")();
  expectUse("admitted");
  model.beginWorkspaceChange(key, "idlePeriods", { isBlocked: false, age: "idle" })(true);
  expectUse("rejected");
  model.beginPolicy("none")();
  expectUse("admitted");
  expect(model.figures).toMatchObject({ blocks: 1, unblocks: 1, idlePeriods: 1, policies: 5 });
});
