import pg from "pg";
import { clientConfig, type DatabaseConnection, type DatabaseRole, startupOptions } from "./connection.ts";
import { isMissingRoleOrPrivilege } from "./sqlstate.ts";

const roles: readonly DatabaseRole[] = ["latchkey_tenant", "latchkey_admission"];

/** The login can't assume the roles that isolate tenants, or can't create them. */
export class RolesMissingError extends Error {
  override readonly name = "RolesMissingError";

  /** @param login the user that `DATABASE_URL` signs in as. */
  constructor(login: string, options?: ErrorOptions) {
    const createRoles = roles.map((role) => `create role ${role} nologin;`).join(" ");
    super(
      `The database user "${login}" can't assume the roles that isolate tenants. Have a superuser run, once: ` +
        `${createRoles} grant ${roles.join(", ")} to ${pg.escapeIdentifier(login)}; (a role that already exists needs only the grant)`,
      options,
    );
  }
}

/**
 * Checks that connections can assume the roles that the product uses.
 * @throws {RolesMissingError}
 */
export async function requireRoles(connection: DatabaseConnection): Promise<void> {
  for (const role of roles) {
    const client = new pg.Client({
      ...clientConfig(connection, "latchkey start"),
      options: startupOptions(role),
    });
    // The statement reports the error. Without this listener, it would end the process.
    client.on("error", () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ name: string }>("select current_user::text as name");
      // A proxy between Latchkey and the database may drop startup options.
      if (rows[0]?.name !== role) throw new RolesMissingError(client.user ?? "");
    } catch (error) {
      if (isMissingRoleOrPrivilege(error)) throw new RolesMissingError(client.user ?? "", { cause: error });
      throw error;
    } finally {
      await client.end();
    }
  }
}
