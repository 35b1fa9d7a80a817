import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(async () => {
  await database.drop();
});

test("the deletion of a user deletes the records of their requests, and leaves the records of verifications to the purge", async () => {
  const ids = {
    deleted: "00000000-0000-7000-8000-000000000001",
    other: "00000000-0000-7000-8000-000000000002",
  };
  const count = 5_000;
  const others = [
    "/open/api-keys/key/rotate",
    "/open/keys",
    "/open/keys/verify-all",
    "/open/keys/verify/later",
    "/open/me/notices/read",
    "/open/workspaces",
  ];
  const verifications = ["/open/keys/verify", "/open/keys/verify-batch"];
  const { rows } = await database.owner.transaction().execute(async (trx) => {
    for (const id of Object.values(ids)) {
      await sql`insert into users (id, email, name) values (${id}, ${`${id}@example.com`}, 'Ada')`.execute(
        trx,
      );
      await sql`
        insert into idempotency_records (user_id, method, path, key, request_hash, status, answer)
        select ${id}, 'POST', path, n, sha256(''), 200, 'null'
        from (
          select path, 1 as n from unnest(${others}::text[]) as path
          union all
          select path, n from unnest(${verifications}::text[]) as path, generate_series(1, ${count}) as n
        ) as request`.execute(trx);
    }
    const read = () =>
      sql<{ table: number; index: number }>`
      select pg_stat_get_xact_tuples_returned('idempotency_records'::regclass)::integer as table,
        pg_stat_get_xact_tuples_returned('idempotency_records_pkey'::regclass)::integer as index`.execute(
        trx,
      );
    const before = await read();
    await sql`delete from users where id = ${ids.deleted}`.execute(trx);
    const after = await read();
    // Otherwise, a gateway that sends Idempotency-Keys would make the deletion take seconds, while it has locked the counters.
    expect(after.rows[0]?.table).toBe(before.rows[0]?.table);
    expect(Number(after.rows[0]?.index) - Number(before.rows[0]?.index)).toBeLessThanOrEqual(others.length);
    return await sql<{ user: string; path: string; count: number }>`
      select user_id as user, path, count(*)::integer as count from idempotency_records
      group by user_id, path order by user_id, path collate "C"`.execute(trx);
  });
  const listOf = (user: string, paths: readonly string[], each: number) =>
    paths.map((path) => ({ user, path, count: each }));
  expect(rows.filter(({ user }) => user === ids.deleted)).toEqual(listOf(ids.deleted, verifications, count));
  expect(rows.filter(({ user }) => user === ids.other)).toHaveLength(others.length + verifications.length);
});
