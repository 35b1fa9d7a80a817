import { sql } from "kysely";
import type { IssuedKeyId, KeyspaceId, WorkspaceId } from "./ids.ts";
import type { Db, Trx } from "./schema.ts";

/** A keyspace and its workspace. */
export interface KeyspaceLocation {
  readonly workspaceId: WorkspaceId;
  readonly keyspaceId: KeyspaceId;
}

/** For the operator: finds the workspace of a keyspace. */
export async function locateKeyspace(db: Db, id: KeyspaceId): Promise<KeyspaceLocation | undefined> {
  return await asAdmission(db, (trx) =>
    trx
      .selectFrom("keyspaces")
      .select(["workspace_id as workspaceId", "id as keyspaceId"])
      .where("id", "=", id)
      .executeTakeFirst(),
  );
}

/** For the operator: finds the keyspaces of issued keys, each once, with their workspaces. Ignores unknown keys. */
export async function locateIssuedKeys(
  db: Db,
  ids: readonly IssuedKeyId[],
): Promise<readonly KeyspaceLocation[]> {
  return await asAdmission(db, (trx) =>
    trx
      .selectFrom("issued_keys")
      // A key can outlive its keyspace for a while.
      .innerJoin("keyspaces", "keyspaces.id", "issued_keys.keyspace_id")
      .select(["issued_keys.workspace_id as workspaceId", "issued_keys.keyspace_id as keyspaceId"])
      .where(sql<boolean>`issued_keys.id = any(${ids}::uuid[])`)
      .distinct()
      .execute(),
  );
}

/** Only the admission role sees more than one workspace. */
async function asAdmission<Result>(db: Db, read: (trx: Trx) => Promise<Result>): Promise<Result> {
  return await db.transaction().execute(async (trx) => {
    await sql`set local role latchkey_admission`.execute(trx);
    return await read(trx);
  });
}
