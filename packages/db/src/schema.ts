import type { ColumnType, Generated, Kysely, Transaction } from "kysely";
import type { Actor, AuditAction, auditActions, Details, KeyAction } from "./audit-actions.ts";
import type {
  AccountId,
  AuditEventId,
  KeyId,
  KeyRefusalId,
  SecurityEventId,
  SessionId,
  UserId,
  WorkspaceId,
} from "./ids.ts";

/** A member's role in a workspace, from most to least powerful. */
export type Role = "owner" | "admin" | "member" | "viewer";

/** A time that the database sets when the row is made and nobody changes afterwards. */
type CreatedAt = ColumnType<Date, never, never>;

/** A person with a sign-in, or later a service account. */
export interface UserTable {
  id: UserId;
  /** In lower case; one account an address. */
  email: string;
  email_verified: Generated<boolean>;
  name: string;
  image: string | null;
  /** Whether this is the instance's operator: its first user, by a trigger, under a lock. */
  is_operator: ColumnType<boolean, never, never>;
  disabled_at: Date | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface SessionTable {
  id: SessionId;
  user_id: UserId;
  token: string;
  expires_at: Date;
  ip_address: string | null;
  user_agent: string | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

/** One way for a user to prove who they are: a password (`credential`) or an identity provider. */
export interface AccountTable {
  id: AccountId;
  user_id: UserId;
  account_id: string;
  provider_id: string;
  /** The argon2id hash in PHC form, for `credential` only. */
  password: string | null;
  access_token: string | null;
  refresh_token: string | null;
  id_token: string | null;
  access_token_expires_at: Date | null;
  refresh_token_expires_at: Date | null;
  scope: string | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

export interface VerificationTable {
  id: string;
  identifier: string;
  value: string;
  expires_at: Date;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

/** How much of a limit on attempts is used up; the time moves with every attempt. A row in the past means nothing. */
export interface ThrottleBucketTable {
  /** What is throttled, as a keyed digest of 32 bytes. */
  digest: Buffer;
  /** When the bucket will be full again. */
  full_at: Date;
}

/** A device or network that a user has signed in from. */
export interface SignInOriginTable {
  /** Of the email address with the device or network: 32 bytes, keyed. */
  digest: Buffer;
  user_id: UserId;
  last_used_at: Date;
}

/** A tenant. */
export interface WorkspaceTable {
  id: WorkspaceId;
  name: string;
  /** At most 500 characters; empty by default. */
  description: Generated<string>;
  /** Names the workspace in the web app's addresses; lower-case letters, digits and hyphens. */
  slug: string;
  created_at: CreatedAt;
  updated_at: Generated<Date>;
  /** Moves with every change of the settings. */
  version: Generated<number>;
}

export interface MemberTable {
  workspace_id: WorkspaceId;
  user_id: UserId;
  role: Role;
  created_at: CreatedAt;
  /** Moves with every change of the role. */
  version: Generated<number>;
}

/** A change in a workspace, as it was made. Rows are added and never changed. */
export interface AuditEventTable {
  workspace_id: WorkspaceId;
  id: AuditEventId;
  occurred_at: ColumnType<Date, never, never>;
  action: AuditAction;
  actor_kind: Actor["kind"];
  actor_user_id: UserId | null;
  actor_key_id: KeyId | null;
  target_kind: (typeof auditActions)[AuditAction];
  target_id: string;
  before: ColumnType<Details | null, string | null, never>;
  after: ColumnType<Details | null, string | null, never>;
  address: string | null;
  request_id: string | null;
}

/** A change that concerns the security of a user's account. Rows are added and never changed. */
export interface SecurityEventTable {
  user_id: UserId;
  id: SecurityEventId;
  occurred_at: ColumnType<Date, never, never>;
  action: KeyAction;
  actor_kind: Actor["kind"];
  /** The API key that made the change. */
  actor_key_id: KeyId | null;
  /** The API key that was changed. */
  key_id: KeyId | null;
  before: ColumnType<Details | null, string | null, never>;
  after: ColumnType<Details | null, string | null, never>;
  address: string | null;
  request_id: string | null;
}

/** How a request that its client gave a name was answered. */
export interface IdempotencyRecordTable {
  user_id: UserId;
  method: string;
  path: string;
  key: string;
  request_hash: Buffer;
  status: number;
  answer: ColumnType<Record<string, unknown> | null, string, string>;
  /** SHA-256 of the secret that the request was made with; null in rows from before it was stored. */
  presented_hash: Buffer | null;
  /** SHA-256 of the secret that the answer issued; null for an answer that issued none. */
  issued_hash: Buffer | null;
  created_at: ColumnType<Date, never, Date>;
}

export interface ApiKeyTable {
  id: KeyId;
  user_id: UserId;
  name: string;
  description: string;
  /** The first characters of the secret, to recognise it by. */
  start: string;
  /** SHA-256 of the whole secret, 32 bytes. */
  hash: Buffer;
  created_at: CreatedAt;
  updated_at: Generated<Date>;
  deleted_at: Date | null;
  disabled_at: Date | null;
  expires_at: Date | null;
  /** The workspaces it is held to; null for all of its user's. */
  workspace_ids: readonly WorkspaceId[] | null;
  /** The permissions it is held to; null for all of its user's. */
  permissions: readonly string[] | null;
  is_read_only: Generated<boolean>;
  /** The ranges of addresses in CIDR notation that it may come from; null for any. */
  ip_ranges: readonly string[] | null;
  /** Uses a window, with `limit_window_seconds`; both null where it has no limit. */
  limit_quota: number | null;
  limit_window_seconds: number | null;
  /** Moves with every change that its user makes. */
  version: Generated<number>;
}

/** A secret that a key had before it was given another one. */
export interface RetiredSecretTable {
  hash: Buffer;
  key_id: KeyId;
  start: string;
  retired_at: ColumnType<Date, never, never>;
  /** When its overlap ends, or has ended. */
  good_until: Date;
  /** When it was last admitted, good to a minute. */
  last_used_at: ColumnType<Date | null, never, Date>;
  /** When it was last refused, and to which address. */
  refused_at: ColumnType<Date | null, never, Date>;
  refused_address: ColumnType<string | null, never, string | null>;
}

/** How many requests with a key had an outcome in an hour, in a workspace or in none. */
export interface KeyUsageHourTable {
  key_id: KeyId;
  hour: Date;
  workspace_id: WorkspaceId | null;
  outcome: string;
  count: number;
}

/** Where a key was used from. */
export interface KeyAddressTable {
  key_id: KeyId;
  address: string;
  /** Good to a minute. */
  last_seen_at: Date;
}

/** A request with a key that was refused. */
export interface KeyRefusalTable {
  key_id: KeyId;
  id: KeyRefusalId;
  occurred_at: Date;
  address: string | null;
  method: string;
  path: string;
  request_id: string;
  reason: string;
}

/**
 * Admission's own row of a key, narrow and updated in place. `version` moves with every change that could
 * turn an admission into a refusal or back; a use is counted only where the version is the one expected.
 */
export interface KeyCounterTable {
  key_id: KeyId;
  version: Generated<number>;
  use_count: Generated<number>;
  last_used_at: Date | null;
  /** When the limit's window ends, or has ended; null, like the next two, for a key that never had a limit. */
  window_ends_at: Date | null;
  /** How many uses it let through. */
  window_spent: number | null;
  /** How many uses the limit let through of those that were asked for last. */
  last_granted: number | null;
  /** True from a rotation until the first use of the new secret, exactly; null otherwise. */
  has_unused_secret: boolean | null;
}

/** Every table, by its name in Postgres. */
export interface Database {
  users: UserTable;
  sessions: SessionTable;
  accounts: AccountTable;
  verifications: VerificationTable;
  throttle_buckets: ThrottleBucketTable;
  sign_in_origins: SignInOriginTable;
  workspaces: WorkspaceTable;
  members: MemberTable;
  api_keys: ApiKeyTable;
  key_counters: KeyCounterTable;
  retired_secrets: RetiredSecretTable;
  key_usage_hours: KeyUsageHourTable;
  key_addresses: KeyAddressTable;
  key_refusals: KeyRefusalTable;
  audit_events: AuditEventTable;
  security_events: SecurityEventTable;
  idempotency_records: IdempotencyRecordTable;
}

/** The database, for single statements. */
export type Db = Kysely<Database>;
/** A unit of work: what runs in it happens whole or not at all. */
export type Trx = Transaction<Database>;
