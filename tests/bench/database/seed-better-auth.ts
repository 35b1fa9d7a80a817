import { defaultKeyHasher } from "@better-auth/api-key";
import { getMigrations } from "better-auth/db/migration";
import pg from "pg";
import { createBetterAuth } from "../servers/better-auth-options.ts";
import type { DatabaseConnection } from "./bench-cluster.ts";

/**
 * Fills a better-auth database: its own migrator creates the schema, its own API creates one key, and the other keys
 * are copies of that row with different IDs and hashes.
 */
export async function seedBetterAuth(address: DatabaseConnection, secrets: readonly string[]): Promise<void> {
  const auth = createBetterAuth(address);
  const client = new pg.Client(address);
  try {
    const { runMigrations } = await getMigrations(auth.options);
    await runMigrations();
    const { user } = await auth.api.signUpEmail({
      body: { name: "Ada Lovelace", email: "ada@example.com", password: "a horse that counts to ten" },
    });
    const { id } = await auth.api.createApiKey({ body: { userId: user.id, name: "First" } });
    await client.connect();
    const hashes = await Promise.all(secrets.map((secret) => defaultKeyHasher(secret)));
    await client.query(
      `insert into apikey
       select copy.* from apikey, unnest($2::text[]) hash,
         jsonb_populate_record(apikey, jsonb_build_object('id', gen_random_uuid(), 'key', hash)) copy
       where apikey.id = $1`,
      [id, hashes],
    );
    await client.query("delete from apikey where id = $1", [id]);
    await client.query("vacuum (analyze)");
  } finally {
    await client.end();
    await auth.options.database.end();
  }
}
