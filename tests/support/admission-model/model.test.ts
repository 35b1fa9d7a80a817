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

test("a good key is admitted and not refused", () => {
  const { model, key } = begin();
  model.beginUse(key)("admitted");
  expect(() => model.beginUse(key)("refused")).toThrow("cannot be that a use of key_1 was refused");
});

test("a use that begins after a change was acknowledged sees it", () => {
  const { model, user, session, key } = begin();
  model.beginDisabling(user)();
  model.beginUse(key)("refused");
  expect(() => model.beginUse(key)("admitted")).toThrow("a use of key_1 was admitted");
  model.beginEnabling(user)();
  model.beginUse(key)("admitted");
  expect(() => model.beginUse(key)("refused")).toThrow("a use of key_1 was refused");
  const anew = model.beginSignIn(user)("done");
  expect(session.isOpen.possible).toContain(false);
  model.beginDeletion(anew, key)("done");
  expect(() => model.beginUse(key)("admitted")).toThrow("a use of key_1 was admitted");
});

test("a use that overlaps a change may see either side, whichever of the two begins or ends first", () => {
  for (const outcome of ["admitted", "refused"] as const) {
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

test("a use that saw a user disabled and enabled again may see any of it", () => {
  const { model, user, key } = begin();
  const use = model.beginUse(key);
  model.beginDisabling(user)();
  model.beginEnabling(user)();
  use("refused");
});

test("a use of a deleted key of a disabled user is refused, whatever becomes of the user", () => {
  const { model, user, session, key } = begin();
  model.beginDeletion(session, key)("done");
  const use = model.beginUse(key);
  model.beginDisabling(user)();
  model.beginEnabling(user)();
  expect(() => use("admitted")).toThrow("was admitted");
});

test("an edit needs a live session and a key that is there", () => {
  const { model, user, session, key } = begin();
  expect(() => model.beginRenaming(session, key, "second")("refused")).toThrow("was refused");
  expect(() => model.beginRenaming(session, key, "second")("missing")).toThrow("was missing");
  model.beginRenaming(session, key, "second")("done");
  model.beginDeletion(session, key)("done");
  model.beginDeletion(session, key)("missing");
  expect(() => model.beginDeletion(session, key)("done")).toThrow("was done");
  model.beginDisabling(user)();
  model.beginCreation(session, "third")("refused");
  expect(() => model.beginCreation(session, "third")({ id: "key_2" })).toThrow("a creation was done");
  expect(() => model.beginSignIn(user)("done")).toThrow("a sign-in of ada@example.com was done");
});

test("a session that disabling ended stays ended", () => {
  const { model, user, session } = begin();
  model.beginDisabling(user)();
  model.beginEnabling(user)();
  model.beginListing(session)("refused");
  expect(() => model.beginListing(session)([])).toThrow("a list was read");
});

test("a list shows the keys that are there, by their last name", () => {
  const { model, session, key } = begin();
  const list = (name: string) => model.beginListing(session)([{ id: key.id, name, usageCount: 0 }]);
  model.beginRenaming(session, key, "second")("done");
  list("second");
  expect(() => list("first")).toThrow('listed as "first"');
  expect(() => model.beginListing(session)([])).toThrow("key_1 was not listed");
  model.beginDeletion(session, key)("done");
  expect(() => list("second")).toThrow("key_1 was listed");
});

test("what was answered is counted, what was refused is not, and what is unknown may be", () => {
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
  model.beginUse(key)("refused");
  expect(() => model.expectFinalCount(key, 3)).toThrow("not 1 to 2");
});

test("what a role allows is seen by a use that begins after the change was acknowledged", () => {
  const { model, user, key } = begin();
  const expectUses = (see: "admitted" | "refused", audit: "admitted" | "refused"): void => {
    for (const [requirement, outcome] of [
      ["see", see],
      ["audit", audit],
    ] as const) {
      model.beginUse(key, requirement)(outcome);
      const other = outcome === "admitted" ? "refused" : "admitted";
      expect(() => model.beginUse(key, requirement)(other)).toThrow(`a use of key_1 was ${other}`);
    }
    model.beginUse(key)("admitted");
  };
  expectUses("refused", "refused");
  model.beginRoleChange(user, undefined, "viewer")();
  expectUses("admitted", "refused");
  const end = model.beginRoleChange(user, "viewer", "admin");
  model.beginUse(key, "audit")("admitted");
  model.beginUse(key, "audit")("refused");
  end();
  expectUses("admitted", "admitted");
  model.beginRoleChange(user, "admin", undefined)();
  expectUses("refused", "refused");
  expect(model.figures).toMatchObject({ additions: 1, roleChanges: 1, removals: 1 });
});
