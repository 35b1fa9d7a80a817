import { type Kysely, sql } from "kysely";

/**
 * Keyspaces. The permissions for API keys that reach a workspace get other names, because `keys:` is about issued keys from
 * now on.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await renamePermissions(db);
}

/** Last, because the changed rows stay locked until the end of the migration. */
async function renamePermissions(db: Kysely<unknown>): Promise<void> {
  await sql`
    update api_keys set permissions =
      array_replace(array_replace(permissions, 'keys:read', 'api-keys:read'), 'keys:manage', 'api-keys:manage')
    where permissions && array['keys:read', 'keys:manage']`.execute(db);
}
