import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { UserId } from "./ids.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { insertUserWithPassword } from "./users.ts";
import type { NewWorkspaceFields } from "./workspace-fields.ts";
import { asUser, inWorkspace, type WorkspaceScope } from "./workspace-scope.ts";
import { findWorkspace, insertWorkspace, listMemberships, updateWorkspace } from "./workspaces.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

async function addWorkspace(fields: NewWorkspaceFields): Promise<{ userId: UserId; scope: WorkspaceScope }> {
  return await database.db.transaction().execute(async (trx) => {
    const user = { email: `${randomUUID()}@example.com`, name: "Ada", passwordHash: "hash" };
    const userId = (await insertUserWithPassword(trx, user)) as UserId; // No account has this email address.
    const made = await insertWorkspace(trx, { ...fields, slug: randomUUID(), ownerId: userId });
    return { userId, scope: made?.scope as WorkspaceScope }; // No workspace has this slug.
  });
}

const find = (scope: WorkspaceScope) => inWorkspace(database.db, scope, (trx) => findWorkspace(trx, scope));

test("a workspace has the fields that it was created with, and an empty description by default", async () => {
  const plain = await addWorkspace({ name: "Plain" });
  expect(await find(plain.scope)).toMatchObject({ name: "Plain", description: "", version: 1 });
  const { userId, scope } = await addWorkspace({ name: "Team", description: "Why" });
  const expected = { name: "Team", description: "Why", version: 1 };
  expect(await find(scope)).toMatchObject(expected);
  const listed = await asUser(database.db, userId, (trx) =>
    listMemberships(trx, userId, { limit: 10, direction: "asc" }),
  );
  expect(listed).toMatchObject([{ ...expected, role: "owner" }]);
});

test("an edit changes only its fields, at one of its versions, in its own workspace", async () => {
  const { scope } = await addWorkspace({ name: "Team", description: "Why" });
  const other = await addWorkspace({ name: "Other", description: "Theirs" });
  const update = (change: Parameters<typeof updateWorkspace>[2], target = scope) =>
    inWorkspace(database.db, scope, (trx) => updateWorkspace(trx, target, change));

  const described = { name: "Team", description: "Because", version: 2 };
  const edit = { fields: { name: undefined, description: "Because" }, versions: [1] };
  expect(await update(edit)).toMatchObject(described);
  expect(await update(edit)).toBeUndefined();
  expect(await find(scope)).toMatchObject(described);

  const named = { name: "Crew", description: "Because", version: 3 };
  expect(await update({ fields: { name: "Crew" }, versions: undefined })).toMatchObject(named);
  // Another tenant's scope satisfies the query's condition, but not row-level security.
  expect(await update({ fields: { description: "Ours" }, versions: undefined }, other.scope)).toBeUndefined();
  expect(await find(other.scope)).toMatchObject({ name: "Other", description: "Theirs", version: 1 });
});
