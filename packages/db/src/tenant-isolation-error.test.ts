import { sql } from "kysely";
import { expect, inject, test } from "vitest";
import type { Db } from "./schema.ts";
import { requireTenantIsolation } from "./tenant-isolation.ts";
import { createTestDatabase } from "./testing/test-database.ts";

const run = (db: Db, statement: string) => sql.raw(statement).execute(db);

test("lists everything that is missing, including what no statement can restore", async () => {
  const other = await createTestDatabase(inject("postgres"));
  await run(other.owner, "drop table key_refusals");
  await run(other.owner, "drop trigger name_first_user_operator on users");
  await run(other.owner, "drop function is_own_key cascade");
  await run(other.owner, "revoke select on members from latchkey_admission, latchkey_tenant");
  await expect(requireTenantIsolation(other.connection)).rejects.toMatchObject({
    name: "TenantIsolationError",
    message:
      'The database is incomplete: the table "key_refusals" is missing, so statements that use it fail; ' +
      'the table "key_usage_hours" lacks the policy "own_keys", so the role "latchkey_tenant" can\'t access the rows that the policy allows; ' +
      'the table "workspace_key_access" lacks the policy "own_keys", so the role "latchkey_tenant" can\'t access the rows that the policy allows; ' +
      'the role "latchkey_admission" lacks select (created_at, role, user_id, workspace_id) on the table "members", ' +
      "so statements that need it fail; " +
      'the role "latchkey_tenant" lacks select on the table "members", so statements that need it fail; ' +
      'the function "is_own_key(uuid)" is missing, so statements that call it fail; ' +
      'the table "users" lacks the trigger "name_first_user_operator", so the first account doesn\'t become the operator. ' +
      "Make a backup with `latchkey backup`, and restore it with `latchkey restore` into an empty database, " +
      "which gets everything that the migrations set up.",
  });
  await other.drop();
});

test.each([
  [
    "drop trigger add_issued_key_uses on key_counters",
    'The database is incomplete: the table "key_counters" lacks the trigger "add_issued_key_uses", ' +
      "so nodes keep accepting issued keys that are disabled or changed. Make a backup",
  ],
  [
    "alter table key_counters disable trigger add_issued_key_uses",
    'The database is incomplete: the trigger "add_issued_key_uses" of the table "key_counters" is disabled, ' +
      "so nodes keep accepting issued keys that are disabled or changed. To repair it, run",
  ],
  [
    "drop trigger check_service_account_member on members",
    'The database no longer isolates tenants: the table "members" lacks the trigger "check_service_account_member". Make a backup',
  ],
  // The triggers of a missing table aren't differences of their own.
  [
    "drop table owner_versions cascade",
    'The database is incomplete: the table "owner_versions" is missing, so statements that use it fail. Make a backup',
  ],
  [
    "drop table keyspaces cascade",
    'The database is incomplete: the table "keyspaces" is missing, so statements that use it fail. Make a backup',
  ],
  [
    "revoke delete on sessions from latchkey_tenant",
    'The database is incomplete: the role "latchkey_tenant" lacks delete on the table "sessions", ' +
      "so statements that need it fail. To repair it, run",
  ],
  [
    "revoke usage on schema public from latchkey_tenant, public",
    'The database is incomplete: the role "latchkey_tenant" lacks usage on the schema "public", so all of its statements fail. ' +
      "To repair it, run",
  ],
  [
    "revoke execute on function named_user() from public",
    'The database is incomplete: the role "latchkey_admission" lacks execute on the function "named_user()", ' +
      "so statements that call it fail; ",
  ],
  [
    "drop policy named_workspace on members",
    'The database is incomplete: the table "members" lacks the policy "named_workspace", ' +
      'so the role "latchkey_tenant" can\'t access the rows that the policy allows. To repair it, run',
  ],
  [
    "drop policy retention on audit_events",
    'The database no longer isolates tenants: the table "audit_events" lacks the policy "retention". To repair it, run',
  ],
  [
    "alter table members disable row level security; revoke delete on sessions from latchkey_tenant",
    'The database no longer isolates tenants: row-level security of the table "members" is disabled. ' +
      'The database is also incomplete: the role "latchkey_tenant" lacks delete on the table "sessions", ' +
      "so statements that need it fail. To repair it, run",
  ],
])("after `%s`, says what goes wrong", async (statement, message) => {
  const other = await createTestDatabase(inject("postgres"));
  await run(other.owner, statement);
  const error = await requireTenantIsolation(other.connection).catch((thrown: Error) => thrown);
  expect(error).toMatchObject({ name: "TenantIsolationError", message: expect.stringContaining(message) });
  await other.drop();
});
