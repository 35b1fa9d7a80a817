import { sql } from "kysely";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import type { UserId } from "./ids.ts";
import { listSecurityEvents, type SecurityEventFilter } from "./security-events.ts";
import { countReads } from "./testing/count-reads.ts";
import { createTestDatabase, type TestDatabase } from "./testing/test-database.ts";
import { insertUserWithPassword } from "./users.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase(inject("postgres"));
});
afterAll(() => database.drop());

test("a filtered page of 10,000 events reads only the events that it shows", async () => {
  const user = { email: "ada@example.com", name: "Ada", passwordHash: "hash" };
  const inserted = await database.db.transaction().execute((trx) => insertUserWithPassword(trx, user));
  const userId = inserted as UserId; // No account has this email address.
  await sql`
    insert into security_events (user_id, id, occurred_at, action, actor_kind)
    select ${userId}, gen_random_uuid(), now() - n * interval '1 minute',
      case when n % 1000 = 500 then 'password.changed' else 'sign-in.failed' end, 'session'
    from generate_series(1, 10000) n`.execute(database.owner);
  await sql`analyze security_events`.execute(database.owner);
  const page = { sort: "occurredAt", direction: "desc", limit: 51, after: undefined } as const;
  const read = (filter: SecurityEventFilter) =>
    database.db.transaction().execute(async (trx) => {
      const { result, rows } = await countReads(trx, ["security_events"], () =>
        listSecurityEvents(trx, userId, { ...page, filter }),
      );
      return { shown: result.length, read: rows };
    });
  expect(await read({})).toEqual({ shown: 51, read: 51 });
  expect(await read({ action: "password.changed" })).toEqual({ shown: 10, read: 10 });
  expect(await read({ action: "key.created" })).toEqual({ shown: 0, read: 0 });
});
