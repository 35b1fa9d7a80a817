import { createHash } from "node:crypto";
import { sql } from "kysely";
import type { ClusterConnection } from "../embedded/cluster-connection.ts";
import { createId } from "../ids.ts";
import {
  type BareDatabase,
  createEmptyDatabase,
  createOwner,
  giveDatabase,
  type Owner,
} from "../migrate.test-kit.ts";
import type { Db } from "../schema.ts";
import { writeKeyspaceHistory } from "../write-keyspace-history.ts";
import { backupTables } from "./backup-tables.ts";
import { type DumpOptions, dumpDatabase } from "./dump-database.ts";

/** A database whose owner is not a superuser. */
export interface OwnedDatabase {
  readonly owner: ClusterConnection;
  readonly superuser: Db;
}

/** Makes a role the owner of a database, or a new role. */
export async function own(database: BareDatabase, owner?: Owner): Promise<OwnedDatabase> {
  const role = owner ?? (await createOwner(database.db, "with inherit false"));
  return { owner: await giveDatabase(database, role), superuser: database.db };
}

/** Creates such a database, without a schema, and with an owner of its own. */
export async function createOwnedDatabase(): Promise<OwnedDatabase> {
  return await own(await createEmptyDatabase());
}

/** Text that would break a format without escaping. */
export const textThatNeedsEscaping = "tab\t, line\nfeed, \r, \\, \\., \\N, “quotes”, 🗝, \u0001";

/** Adds two tenants, with rows in every table. The operator is not the first row of its table. */
export async function fill(db: Db): Promise<void> {
  await sql`
    insert into users (id, email, name) values
      ('01900000-0000-7000-8000-000000000001', 'ada@example.com', 'Ada'),
      ('01900000-0000-7000-8000-000000000002', 'grace@example.com', ${textThatNeedsEscaping})`.execute(db);
  // Moves the operator's row behind the other user's.
  await sql`update users set image = '\\.' where is_operator`.execute(db);
  await sql`
    insert into accounts (id, user_id, account_id, provider_id, password)
    select id, id, id::text, 'credential', 'hash' from users`.execute(db);
  await sql`
    insert into sessions (id, user_id, token, expires_at) select id, id, id::text, now() + interval '1 day' from users`.execute(
    db,
  );
  await sql`
    insert into sign_in_origins (digest, user_id, last_used_at) select sha256(email::bytea), id, 'infinity' from users`.execute(
    db,
  );
  await sql`
    insert into totp_factors (user_id, secret, confirmed_at, last_step) select id, sha256(email::bytea), now(), 7 from users`.execute(
    db,
  );
  await sql`insert into recovery_codes (user_id, digest) select id, sha256(email::bytea) from users`.execute(
    db,
  );
  await sql`
    insert into passkeys (id, user_id, credential_id, public_key, sign_count, transports, name)
    select id, id, email, sha256(email::bytea), 4294967295, '{internal,hybrid}', name from users`.execute(db);
  await sql`
    insert into identities (issuer, subject, user_id, email)
    select 'https://id.example.com', id::text, id, email from users`.execute(db);
  await sql`
    insert into verifications (id, identifier, value, expires_at) values (gen_random_uuid(), '\\.', '', now())`.execute(
    db,
  );
  await sql`insert into throttle_buckets (digest, full_at) values (sha256('x'), now())`.execute(db);
  await sql`
    insert into idempotency_records (user_id, method, path, key, request_hash, status, answer)
    select id, 'POST', '/open/api-keys', 'name', sha256('x'), 201, json_build_object('text', name) from users`.execute(
    db,
  );
  await sql`insert into workspaces (id, name, slug) select id, name, id::text from users`.execute(db);
  await sql`insert into members (workspace_id, user_id, role) select id, id, 'owner' from users`.execute(db);
  await sql`
    insert into invitations (workspace_id, id, email, role, invited_by, is_emailed, expires_at)
    select id, id, email, 'viewer', id, true, now() from users`.execute(db);
  await sql`
    insert into members (workspace_id, user_id, role)
    select workspaces.id, users.id, 'viewer' from workspaces join users on users.id <> workspaces.id`.execute(
    db,
  );
  await sql`
    insert into ownership_transfers (workspace_id, from_user_id, to_user_id, expires_at)
    select workspace_id, workspace_id, user_id, now() from members where role = 'viewer'`.execute(db);
  await sql`insert into former_users (id, name) select gen_random_uuid(), name from users`.execute(db);
  await sql`
    insert into audit_events (workspace_id, id, action, actor_kind, target_kind, target_id, after)
    select id, id, 'workspace.created', 'command', 'workspace', id, jsonb_build_object('name', name) from users`.execute(
    db,
  );
  await sql`
    insert into webhooks (workspace_id, id, url, description, actions, secret)
    select id, id, 'https://example.com', name, array['key.created'], sha256(email::bytea) from users`.execute(
    db,
  );
  await sql`
    insert into webhook_deliveries (workspace_id, id, webhook_id, event_id, action, status, attempts)
    select id, id, id, id, 'key.created', 'succeeded', jsonb_build_array(jsonb_build_object('error', name)) from users`.execute(
    db,
  );
  await sql`
    insert into api_keys (id, user_id, name, description, start, hash, workspace_ids, permissions, ip_ranges)
    select id, id, name, '', 'lk_', sha256(email::bytea), array[id], '{}', array['192.0.2.0/24', null] from users`.execute(
    db,
  );
  await sql`
    insert into keyspaces (workspace_id, id, name, prefix, default_limits, default_credits)
    select id, id, name, 'sk_live', '[{"name": "requests"}]', '{"remaining": 5}' from users`.execute(db);
  await sql`
    insert into deleted_keyspaces (id, workspace_id) select gen_random_uuid(), id from workspaces`.execute(
    db,
  );
  for (const table of ["deleted_workspaces", "deleted_webhooks"])
    await sql`
      insert into ${sql.table(table)} select ${table === "deleted_webhooks" ? sql`id, id` : sql`id`} from workspaces`.execute(
      db,
    );
  await sql`
    insert into consumers (workspace_id, keyspace_id, id, external_id) select id, id, id, name from users`.execute(
    db,
  );
  // Triggers count them, and list their permissions.
  await sql`
    insert into issued_keys (workspace_id, keyspace_id, id, consumer_id, hash, start, name, meta, permissions, ip_ranges)
    select id, id, gen_random_uuid(), id, sha256(email::bytea), 'sk_live_abcdef', name,
      jsonb_build_object('\', 'tab' || chr(9)), '{documents.read}', '{192.0.2.0/24}' from users`.execute(db);
  await sql`
    insert into retired_issued_secrets (hash, workspace_id, keyspace_id, key_id, start, good_until)
    select sha256(hash), workspace_id, keyspace_id, id, start, now() from issued_keys`.execute(db);
  await sql`
    insert into api_key_policies (workspace_id, max_lifetime_days, is_expiry_required, max_idle_days, version)
    select id, 90, true, 30, 2 from users`.execute(db);
  await sql`
    insert into workspace_key_access (workspace_id, key_id, blocked_at, blocked_by) select id, id, now(), id from users`.execute(
    db,
  );
  await sql`
    insert into security_events (user_id, id, action, actor_kind, key_id, after)
    select user_id, id, 'key.created', 'command', id, jsonb_build_object('name', name) from api_keys`.execute(
    db,
  );
  await sql`
    insert into instance_events (id, action, actor_kind, target_user_id, target_user_name, target_user_email)
    select id, 'user.created', 'command', id, name, email from users`.execute(db);
  await sql`insert into instance_settings (sends_email) values (false)`.execute(db);
  await sql`
    insert into retired_secrets (hash, key_id, start, good_until) select sha256(hash), id, 'lk_', now() from api_keys`.execute(
    db,
  );
  await sql`
    insert into key_counters (key_id, version, use_count, last_used_at) select id, 7, 9007199254740991, now() from api_keys`.execute(
    db,
  );
  await sql`insert into key_counters (key_id) select id from issued_keys`.execute(db);
  await sql`
    insert into issued_key_uses (key_id, version, use_count, last_used_at) select id, 1, 3, now() from issued_keys`.execute(
    db,
  );
  // A trigger has added the versions of users with a second factor.
  await sql`
    insert into owner_versions (owner_id, version) select id, 3 from users
    on conflict (owner_id) do update set version = 3`.execute(db);
  await sql`
    insert into key_usage_hours (key_id, hour, outcome, count) select id, date_trunc('hour', now()), 'admitted', 3 from api_keys`.execute(
    db,
  );
  // A trigger adds these to the rollups of workspaces.
  await sql`
    insert into key_usage_hours (key_id, hour, workspace_id, outcome, count)
    select api_keys.id, date_trunc('hour', now()), workspaces.id, 'admitted', 5 from api_keys, workspaces`.execute(
    db,
  );
  await sql`insert into key_networks (key_id, network, first_seen_at, last_seen_at) select id, '192.0.2.0/24', now(), now() from api_keys`.execute(
    db,
  );
  await sql`insert into known_devices (user_id, device, last_used_at) select id, 'Chrome on macOS', now() from users`.execute(
    db,
  );
  await sql`insert into notice_settings (user_id, kind, in_app, by_email) select id, 'invitation', true, false from users`.execute(
    db,
  );
  await sql`
    insert into notices (id, user_id, kind, subject, facts, is_shown, is_email_due)
    select gen_random_uuid(), id, 'new-device', name, '{"device": "Chrome on macOS"}', true, false from users`.execute(
    db,
  );
  await sql`insert into key_addresses (key_id, address, last_seen_at) select id, '192.0.2.1', now() from api_keys`.execute(
    db,
  );
  await sql`
    insert into key_refusals (key_id, id, occurred_at, method, path, request_id, reason)
    select id, id, now(), 'GET', '/open/me', 'x', 'expired' from api_keys`.execute(db);
  const counted = {
    workspaceId: createId("workspace"),
    keyspaceId: createId("keyspace"),
    hour: new Date("2026-03-02T12:00:00Z"),
    outcome: "VALID",
    count: 1,
  };
  const keyId = createId("issuedKey");
  const rejection = {
    id: createId("keyRejection"),
    occurredAt: counted.hour,
    code: "EXPIRED",
    requestId: "x",
  };
  await writeKeyspaceHistory(db, {
    usage: [{ ...counted, keyId, consumerId: null }],
    tags: [{ ...counted, tag: "eu" }],
    rejections: [{ ...rejection, workspaceId: counted.workspaceId, keyId, address: null }],
  });
}

/** Every row of every table, as text. */
export async function readTables(db: Db): Promise<Record<string, readonly string[]>> {
  const tables: Record<string, readonly string[]> = {};
  for (const table of backupTables) {
    const { rows } = await sql<{ row: string }>`
      select t::text as row from ${sql.table(table)} t order by 1`.execute(db);
    tables[table] = rows.map(({ row }) => row);
  }
  return tables;
}

/** A whole backup in memory. */
export async function dump(
  connection: ClusterConnection,
  options: Partial<DumpOptions> = {},
): Promise<Buffer> {
  return Buffer.concat(
    await Array.fromAsync(dumpDatabase(connection, { product: "1.2.3-test", ...options })),
  );
}

/** A backup in chunks of this many bytes, so that lines are cut anywhere. */
export async function* inChunks(backup: Buffer, bytes: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < backup.length; at += bytes) yield backup.subarray(at, at + bytes);
}

/** Replaces the content of a backup, with a trailer whose checksum matches. */
export function reseal(backup: Buffer, change: (text: string) => string): Buffer {
  const text = backup.toString("utf8");
  const start = text.lastIndexOf("\n", text.length - 2) + 1;
  const trailer = JSON.parse(text.slice(start));
  const body = change(text.slice(0, start));
  const sha256 = createHash("sha256").update(body).digest("hex");
  return Buffer.from(`${body}${JSON.stringify({ ...trailer, sha256 })}\n`);
}
