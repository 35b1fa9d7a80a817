import pg from "pg";
import { clientConfig, type DatabaseConnection, type DatabaseRole, startupOptions } from "./connection.ts";
import { isRoleRefusal } from "./sqlstate.ts";

const roles: readonly DatabaseRole[] = ["latchkey_tenant", "latchkey_admission"];

/** Whoever signs in to the database may not work in the roles that keep tenants apart, or may not make them. */
export class RolesMissingError extends Error {
  override readonly name = "RolesMissingError";

  /** @param login whom `DATABASE_URL` signs in as. */
  constructor(login: string, options?: ErrorOptions) {
    const made = roles.map((role) => `create role ${role} nologin;`).join(" ");
    super(
      `The database's user "${login}" may not take on the roles that keep tenants apart. Have a superuser run, once: ` +
        `${made} grant ${roles.join(", ")} to ${pg.escapeIdentifier(login)}; (a role that is there already needs only the grant)`,
      options,
    );
  }
}

/**
 * Sees that connections can be made in the roles that the product works in.
 * @throws {RolesMissingError}
 */
export async function requireRoles(connection: DatabaseConnection): Promise<void> {
  for (const role of roles) {
    const client = new pg.Client({
      ...clientConfig(connection, "latchkey start"),
      options: startupOptions(role),
    });
    try {
      await client.connect();
      const { rows } = await client.query<{ name: string }>("select current_user::text as name");
      // Something between us and the database may drop what a connection asks for as it starts.
      if (rows[0]?.name !== role) throw new RolesMissingError(client.user ?? "");
    } catch (error) {
      if (isRoleRefusal(error)) throw new RolesMissingError(client.user ?? "", { cause: error });
      throw error;
    } finally {
      await client.end();
    }
  }
}
