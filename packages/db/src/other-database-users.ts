import { sql } from "kysely";
import { escapeIdentifier } from "pg";
import { type DatabaseConnection, type DatabaseRole, openDatabase } from "./connection.ts";

const roles: readonly DatabaseRole[] = ["latchkey_tenant", "latchkey_admission"];

/**
 * Finds other users who can connect to the database and assume the roles of the product, and so read and change all of its data. They are
 * usually those of other instances on the same Postgres server, because roles belong to the server. Superusers aren't reported: they can
 * connect to every database.
 * @returns a warning with the statements that keep these users out; undefined if there are none.
 */
export async function describeOtherUsers(connection: DatabaseConnection): Promise<string | undefined> {
  const db = openDatabase(connection, {
    applicationName: "latchkey start",
    role: "login",
    maxConnections: 1,
  });
  try {
    // Before Postgres 16, every member of a role can assume it.
    const { rows } = await sql<{ name: string; login: string; database: string }>`
      select other.rolname as name, session_user::text as login, current_database()::text as database
      from pg_roles other
      where other.rolcanlogin and not other.rolsuper and other.rolname <> session_user
        and has_database_privilege(other.oid, current_database(), 'CONNECT')
        and exists (
          select from pg_roles role
          where role.rolname = any(${roles}) and pg_has_role(other.oid, role.oid,
            case when current_setting('server_version_num')::integer >= 160000 then 'SET' else 'MEMBER' end)
        )
      order by 1`.execute(db);
    const [first] = rows;
    if (!first) return undefined;
    const names = rows.map(({ name }) => escapeIdentifier(name)).join(", ");
    const [database, login] = [escapeIdentifier(first.database), escapeIdentifier(first.login)];
    return (
      `These other database users can read and change all data of this instance: ${names}. To keep them out, run: ` +
      `revoke connect on database ${database} from public, ${names}; grant connect on database ${database} to ${login};`
    );
  } finally {
    await db.destroy();
  }
}
