import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, expect, inject, test } from "vitest";
import type { UserId, WorkspaceId } from "./ids.ts";
import { listWorkspaceOverviews, maxCounted } from "./operator-workspaces.ts";
import type { Position } from "./page.ts";
import type { Db } from "./schema.ts";
import { openTestPool } from "./testing/test-connection.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";

let database: TestDatabase;
/** In the role of operators' queries. */
let db: Db;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
  db = openTestPool(database.connection, { role: "latchkey_admission", applicationName: "latchkey test" });
});
afterAll(async () => {
  await db.destroy();
  await database.drop();
});
beforeEach(async () => {
  await database.owner.deleteFrom("workspaces").execute();
  await database.owner.deleteFrom("users").execute();
});

async function addWorkspace(name: string): Promise<WorkspaceId> {
  const id = randomUUID() as WorkspaceId;
  await database.owner.insertInto("workspaces").values({ id, name, slug: randomUUID() }).execute();
  return id;
}

interface NewMember {
  readonly keyCount?: number;
  readonly isServiceAccount?: boolean;
}

/** Adds a user who is a member of all of these workspaces. */
async function addMember(
  workspaceIds: readonly WorkspaceId[],
  { keyCount = 0, isServiceAccount = false }: NewMember = {},
): Promise<UserId> {
  const id = randomUUID() as UserId;
  const user = { id, name: "User", email: `${id}@example.com` };
  await database.owner
    .insertInto("users")
    .values({ ...user, ...(isServiceAccount && { service_workspace_id: workspaceIds[0] }) })
    .execute();
  for (const workspace_id of workspaceIds)
    await database.owner
      .insertInto("members")
      .values({ workspace_id, user_id: id, role: "member" })
      .execute();
  await sql`
    insert into api_keys (id, user_id, name, start, hash)
    select gen_random_uuid(), ${id}, 'Key', 'lk_', sha256(convert_to(${id} || n, 'UTF8'))
    from generate_series(1, ${keyCount}::int) n`.execute(database.owner);
  return id;
}

interface Listing {
  readonly sort: "memberCount" | "keyCount" | "name";
  readonly direction: "asc" | "desc";
  readonly search?: string;
  readonly limit?: number;
}

async function readPage({ sort, direction, search = "", limit = 100 }: Listing, after?: Position) {
  return await listWorkspaceOverviews(db, { sort, direction, limit, after, filter: { search } });
}

/** Reads all pages. */
async function readAll(listing: Listing, afterFirstPage?: () => Promise<void>) {
  const all: Awaited<ReturnType<typeof readPage>>[number][] = [];
  let after: Position | undefined;
  for (let pages = 0; pages < 50; pages += 1) {
    const page = await readPage(listing, after);
    const last = page.at(-1);
    if (!last) return all;
    all.push(...page);
    after = { value: last.position, id: last.id };
    if (pages === 0) await afterFirstPage?.();
  }
  throw new Error("The pages don't end.");
}

const directions = ["asc", "desc"] as const;
const listings = (["memberCount", "keyCount"] as const).flatMap((sort) =>
  directions.map((direction) => ({ sort, direction })),
);

test.each(listings)(
  "sorts by $sort ($direction) and by ID if it is equal, on pages of any length",
  async ({ sort, direction }) => {
    // 0 to 10 people, of whom each has one key, so that text would be sorted differently; three workspaces of each size.
    const ids = await Promise.all(Array.from({ length: 33 }, (_, index) => addWorkspace(`Team ${index}`)));
    for (let size = 1; size <= 10; size += 1)
      await addMember(
        ids.filter((_, index) => index % 11 >= size),
        { keyCount: 1 },
      );
    const sizeOf = (id: WorkspaceId) => ids.indexOf(id) % 11;
    const ascending = ids.toSorted((one, other) => sizeOf(one) - sizeOf(other) || (one < other ? -1 : 1));
    const expected = direction === "asc" ? ascending : ascending.toReversed();
    for (const limit of [2, 7, 100]) {
      const rows = await readAll({ sort, direction, limit });
      expect(rows.map(({ id }) => id)).toEqual(expected);
      expect(rows.map((row) => row[sort])).toEqual(expected.map(sizeOf));
    }
    const found = await readAll({ sort, direction, limit: 2, search: "team 1" });
    expect(found.map(({ id }) => id)).toEqual(
      expected.filter((id) => `Team ${ids.indexOf(id)}`.startsWith("Team 1")),
    );
  },
);

test("has the same sizes in every order: people without service accounts, and the keys that can reach the workspace", async () => {
  const [payments, search, empty] = [
    await addWorkspace("Payments"),
    await addWorkspace("Search"),
    await addWorkspace("Empty"),
  ];
  const ada = await addMember([payments, search], { keyCount: 4 });
  await addMember([payments], { keyCount: 1 });
  await addMember([payments], { keyCount: 2, isServiceAccount: true });
  await addMember([], { keyCount: 5 }); // Of no workspace.
  const [deleted, restricted, toOther] = await database.owner
    .selectFrom("api_keys")
    .select("id")
    .where("user_id", "=", ada)
    .execute();
  const change = (id: string | undefined, values: object) =>
    database.owner
      .updateTable("api_keys")
      .set(values)
      .where("id", "=", id as never)
      .execute();
  await change(deleted?.id, { deleted_at: new Date() });
  await change(restricted?.id, { workspace_ids: [search] });
  await change(toOther?.id, { workspace_ids: [empty] }); // Ada isn't a member of it.
  const sizes = new Map([
    [payments, { memberCount: 2, serviceAccountCount: 1, keyCount: 4 }],
    [search, { memberCount: 1, serviceAccountCount: 0, keyCount: 2 }],
    [empty, { memberCount: 0, serviceAccountCount: 0, keyCount: 0 }],
  ]);
  for (const sort of ["name", "memberCount", "keyCount"] as const) {
    const rows = await readPage({ sort, direction: "desc" });
    expect(
      new Map(
        rows.map(({ id, memberCount, serviceAccountCount, keyCount }) => [
          id,
          { memberCount, serviceAccountCount, keyCount },
        ]),
      ),
    ).toEqual(sizes);
  }
});

test("the order distinguishes counts of keys above the largest one that is shown", async () => {
  const [most, more, few] = [
    await addWorkspace("Most"),
    await addWorkspace("More"),
    await addWorkspace("Few"),
  ];
  await addMember([most, more], { keyCount: maxCounted + 1 });
  await addMember([most, few], { keyCount: 1 });
  const expected = [
    [most, maxCounted],
    [more, maxCounted],
    [few, 1],
  ];
  for (const direction of directions) {
    const rows = await readAll({ sort: "keyCount", direction, limit: 1 });
    expect(rows.map(({ id, keyCount }) => [id, keyCount])).toEqual(
      direction === "desc" ? expected : expected.toReversed(),
    );
  }
});

test("a workspace whose size changes between two pages can be repeated or missed, and no other one is", async () => {
  const ids = await Promise.all(Array.from({ length: 12 }, (_, index) => addWorkspace(`Team ${index}`)));
  const [smallest, ...others] = ids as [WorkspaceId, ...WorkspaceId[]]; // Has 12 elements.
  for (let size = 1; size < 12; size += 1) await addMember(ids.slice(size));
  const listing = { sort: "memberCount", direction: "asc", limit: 4 } as const;

  const repeated = await readAll(listing, async () => {
    for (let added = 0; added < 20; added += 1) await addMember([smallest]);
  });
  expect(repeated.map(({ id }) => id)).toEqual([smallest, ...others, smallest]);

  const missing = ids[8] as WorkspaceId; // On the last page.
  const missed = await readAll(listing, async () => {
    await database.owner.deleteFrom("members").where("workspace_id", "=", missing).execute();
  });
  const expected = [...others, smallest].filter((id) => id !== missing);
  expect(missed.map(({ id }) => id)).toEqual(expected);
});
