import { sql } from "kysely";
import pg from "pg";
import type { Db } from "./schema.ts";
import { UnsuitableDatabaseError } from "./unsuitable-database-error.ts";

/**
 * Finds the schema of Latchkey's tables: the first one in the search path that exists. Returns undefined if none exists.
 * @throws {UnsuitableDatabaseError} if `"$user"` in the search path makes the login use another schema than the roles
 *   that it assumes.
 */
export async function findSchema(db: Db): Promise<string | undefined> {
  const { rows } = await sql<{ schema: string | null; login: string; database: string; path: string }>`
    select current_schema()::text as schema, session_user::text as login, current_database()::text as database,
      current_setting('search_path') as path`.execute(db);
  const { schema = null, login = "", database = "", path = "" } = rows[0] ?? {};
  const entries = path.split(",").map((entry) => entry.trim().replace(/^"(.*)"$/, "$1"));
  if (schema === login && !entries.includes(login)) {
    const [user, place] = [login, database].map((name) => pg.escapeIdentifier(name));
    throw new UnsuitableDatabaseError(
      "schema-named-like-login",
      `The database has a schema named after its user "${login}". That user would find other tables than the ` +
        `roles that keep tenants apart; rename the schema, or run: alter role ${user} in database ${place} set search_path = public;`,
    );
  }
  return schema ?? undefined;
}
