import type { ColumnType, Generated, Kysely, Transaction } from "kysely";
import type {
  AccountAction,
  Actor,
  AuditAction,
  auditActions,
  Details,
  KeyAction,
  SystemActor,
} from "./audit-actions.ts";
import type {
  AccountId,
  AuditEventId,
  ConsumerId,
  DeliveryId,
  InstanceEventId,
  InvitationId,
  IssuedKeyId,
  KeyId,
  KeyRejectionId,
  KeyspaceId,
  NoticeId,
  PasskeyId,
  SecurityEventId,
  SessionId,
  UserId,
  WebhookId,
  WorkspaceId,
} from "./ids.ts";
import type { InstanceAction, InstanceActorKind } from "./instance-actions.ts";
import type { Credits, NamedLimit, Refill } from "./issued-key-settings.ts";
import type { NoticeFacts, NoticeKind } from "./notice-kinds.ts";

/** A column of JSON, which is written as text. Absent for the default. */
type JsonColumn<Value> = ColumnType<Value, string | null | undefined, string | null>;

/** A member's role in a workspace, from most to least powerful. */
export type Role = "owner" | "admin" | "member" | "viewer";

/** A time that the database sets when the row is inserted and that never changes. */
type CreatedAt = ColumnType<Date, never, never>;

/** A person who can sign in, or a service account. */
export interface UserTable {
  id: UserId;
  /** In lower case. One account per address. For a service account, a placeholder that no query returns. */
  email: string;
  email_verified: Generated<boolean>;
  name: string;
  image: string | null;
  /** Whether the user is an operator of the instance. A trigger sets it for the first account, under a lock. */
  is_operator: ColumnType<boolean, never, boolean>;
  disabled_at: Date | null;
  /** The only workspace of a service account; null for a person. */
  service_workspace_id: ColumnType<WorkspaceId | null, WorkspaceId | undefined, never>;
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
  /** Up to five minutes old. Null if the session hasn't been used since the upgrade that added this column. */
  last_used_at: Generated<Date | null>;
  /**
   * When the user last authenticated in this session, with a password, a passkey or the OpenID provider; null if that was
   * the sign-in.
   */
  authenticated_at: Date | null;
  /** Whether the user proved a second factor, at the sign-in or since. */
  has_second_factor: Generated<boolean>;
}

/** The authenticator app of a user. */
export interface TotpFactorTable {
  user_id: UserId;
  /** Encrypted, see `FactorSecrets`. */
  secret: Buffer;
  /** When the user entered the first code; null until then, and the factor has no effect. */
  confirmed_at: Date | null;
  /** The time step of the last accepted code. Codes of this step and earlier ones are rejected. */
  last_step: number | null;
  created_at: CreatedAt;
}

/** A passkey of a user. */
export interface IdentityTable {
  issuer: string;
  subject: string;
  user_id: UserId;
  /** The email address at the provider when the identity was linked. */
  email: string | null;
  created_at: CreatedAt;
  last_used_at: Date | null;
}

export interface PasskeyTable {
  id: PasskeyId;
  user_id: UserId;
  /** The authenticator's ID of the credential, in base64url. */
  credential_id: string;
  /** In COSE format. */
  public_key: Buffer;
  /** The authenticator's count of signatures at the last use; 0 if it doesn't count. */
  sign_count: number;
  transports: readonly string[];
  name: string;
  created_at: CreatedAt;
  last_used_at: Date | null;
}

/** A recovery code of a user that has not been used. */
export interface RecoveryCodeTable {
  user_id: UserId;
  /** A keyed digest of the code, 32 bytes. */
  digest: Buffer;
}

/** A sign-in method of a user: a password (`credential`) or an identity provider. */
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

/**
 * A token bucket that limits attempts. Every attempt moves `full_at` forward. A row with a time in the past is a full
 * bucket.
 */
export interface ThrottleBucketTable {
  /** A keyed digest of what is throttled, 32 bytes. */
  digest: Buffer;
  /** When the bucket will be full again. */
  full_at: Date;
}

/** A device or network that a user has signed in from. */
export interface SignInOriginTable {
  /** A keyed digest of the email address with the device or network, 32 bytes. */
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
  /** Identifies the workspace in the web app's URLs. Lower-case letters, digits and hyphens. */
  slug: string;
  created_at: CreatedAt;
  updated_at: Generated<Date>;
  /** Incremented with every change to the settings. */
  version: Generated<number>;
  requires_second_factor: Generated<boolean>;
  /** Null keeps the audit log forever. */
  audit_retention_days: Generated<number | null>;
  /** When an operator disabled the workspace. */
  disabled_at: Date | null;
}

export interface MemberTable {
  workspace_id: WorkspaceId;
  user_id: UserId;
  role: Role;
  created_at: CreatedAt;
  /** Incremented with every change to the role. */
  version: Generated<number>;
}

/** An invitation to a workspace that nobody has accepted yet. */
export interface InvitationTable {
  workspace_id: WorkspaceId;
  id: InvitationId;
  /** In lower case. One invitation per address and workspace. */
  email: string;
  role: Role;
  /** The user who sent it last; null for the `latchkey` command. */
  invited_by: UserId | null;
  /** Whether the link was emailed, rather than shown to the inviter. */
  is_emailed: boolean;
  created_at: CreatedAt;
  expires_at: Date;
}

/** An owner's offer to transfer ownership of a workspace. At most one per workspace. */
export interface OwnershipTransferTable {
  workspace_id: WorkspaceId;
  from_user_id: UserId;
  to_user_id: UserId;
  created_at: CreatedAt;
  expires_at: Date;
}

/** A deleted user, for the audit logs. */
export interface FormerUserTable {
  id: UserId;
  /** The name at the time of the deletion. */
  name: string;
  deleted_at: CreatedAt;
}

/** A URL of a workspace to which its audit events are sent. */
export interface WebhookTable {
  workspace_id: WorkspaceId;
  id: WebhookId;
  url: string;
  description: string;
  /** The actions whose events are sent; null for all, including future ones. */
  actions: readonly AuditAction[] | null;
  /** The secret that signs messages, encrypted. */
  secret: Buffer;
  /** The secret before the last rotation, which also signs messages until its overlap ends. */
  former_secret: Buffer | null;
  former_secret_expires_at: Date | null;
  disabled_at: Date | null;
  /** Who or what disabled it: a user or the command, three days of failed attempts, or a response of 410. */
  disabled_reason: DisabledReason | null;
  /** When the first attempt since the last successful one failed; null if the last one succeeded. */
  failing_since: Date | null;
  /** Until when its messages are sent apart from those of fast webhooks; null if it was never slow. */
  slow_until: Date | null;
  created_at: CreatedAt;
  /** Incremented with every change to the settings. */
  version: Generated<number>;
}

export type DisabledReason = "user" | "failures" | "gone";

/** One event, or a test message, that is sent to one webhook until it succeeds. */
export interface WebhookDeliveryTable {
  workspace_id: WorkspaceId;
  id: DeliveryId;
  webhook_id: WebhookId;
  /** Null for a test message. */
  event_id: AuditEventId | null;
  action: AuditAction | "webhook.test";
  status: Generated<DeliveryStatus>;
  /** Since the delivery was created or last requested again. */
  attempt_count: Generated<number>;
  /** The last 50 attempts, oldest first. */
  attempts: ColumnType<readonly DeliveryAttempt[], never, never>;
  next_attempt_at: Date | null;
  created_at: CreatedAt;
}

export type DeliveryStatus = "pending" | "succeeded" | "failed";

/** Why a request to a webhook got no response. */
export type DeliveryError =
  | "address_not_allowed"
  | "connection_failed"
  | "https_required"
  | "name_not_found"
  | "timeout"
  | "tls_failed";

/** One request to a webhook. */
export interface DeliveryAttempt {
  /** In ISO 8601, in UTC. */
  readonly at: string;
  /** The HTTP status of the response; null if there was none. */
  readonly status: number | null;
  /** Why there was no response; null if there was one. */
  readonly error: DeliveryError | null;
  readonly durationMs: number;
}

/** A change in a workspace. Rows are added and never changed. */
export interface AuditEventTable {
  workspace_id: WorkspaceId;
  id: AuditEventId;
  occurred_at: ColumnType<Date, never, never>;
  action: AuditAction;
  actor_kind: (Actor | SystemActor)["kind"];
  actor_user_id: UserId | null;
  actor_key_id: KeyId | null;
  target_kind: (typeof auditActions)[AuditAction];
  target_id: string;
  /** The owner of the API key; null for other targets and for events of earlier versions. */
  target_owner_id: ColumnType<UserId | null, UserId | null | undefined, never>;
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
  action: KeyAction | AccountAction;
  /** `session` for a failed sign-in too, because migrations only add to the schema. */
  actor_kind: Actor["kind"];
  /** The API key that made the change. */
  actor_key_id: KeyId | null;
  /** The API key that was changed. */
  key_id: KeyId | null;
  before: ColumnType<Details | null, string | null, never>;
  after: ColumnType<Details | null, string | null, never>;
  address: string | null;
  request_id: string | null;
  user_agent: string | null;
}

/** A change by an operator, or the deletion of a user or workspace. Rows are added and never changed. */
export interface InstanceEventTable {
  id: InstanceEventId;
  occurred_at: ColumnType<Date, never, never>;
  action: InstanceAction;
  actor_kind: InstanceActorKind;
  actor_id: UserId | null;
  actor_name: string | null;
  actor_email: string | null;
  target_user_id: UserId | null;
  target_user_name: string | null;
  target_user_email: string | null;
  target_workspace_id: WorkspaceId | null;
  target_workspace_name: string | null;
  target_key_id: KeyId | null;
  before: ColumnType<Details | null, string | null, never>;
  after: ColumnType<Details | null, string | null, never>;
  address: string | null;
  request_id: string | null;
}

/** The response to a request with an `Idempotency-Key`. */
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
  /** SHA-256 of each secret that the response issued, 32 bytes each, in the order of the response; null if it issued none. */
  issued_hash: Buffer | null;
  created_at: ColumnType<Date, never, Date>;
}

export interface ApiKeyTable {
  id: KeyId;
  user_id: UserId;
  name: string;
  description: string;
  /** The first characters of the secret, by which people recognize the key. */
  start: string;
  /** SHA-256 of the whole secret, 32 bytes. */
  hash: Buffer;
  created_at: CreatedAt;
  updated_at: Generated<Date>;
  deleted_at: Date | null;
  disabled_at: Date | null;
  expires_at: Date | null;
  /** The selected workspaces of a restricted key; null for all workspaces of its user. */
  workspace_ids: readonly WorkspaceId[] | null;
  /** The selected permissions of a restricted key; null for all permissions of its user. */
  permissions: readonly string[] | null;
  is_read_only: Generated<boolean>;
  /** The IP ranges that requests may come from, in CIDR notation; null for any address. */
  ip_ranges: readonly string[] | null;
  /** The most uses per window of `limit_window_seconds`; both are null without a rate limit. */
  limit_quota: number | null;
  limit_window_seconds: number | null;
  /** Incremented with every change that the owner makes. */
  version: Generated<number>;
}

/** The policy of a workspace for the API keys that reach it. A workspace without a row accepts every key. */
export interface ApiKeyPolicyTable {
  workspace_id: WorkspaceId;
  /** The longest time from a key's creation or rotation to its expiry. */
  max_lifetime_days: number | null;
  is_expiry_required: Generated<boolean>;
  are_ip_ranges_required: Generated<boolean>;
  /** How long a key may be unused in the workspace. */
  max_idle_days: number | null;
  /** Incremented with every change. */
  version: Generated<number>;
  updated_at: Generated<Date>;
}

/** What the admins of a workspace decided about one key. */
export interface WorkspaceKeyAccessTable {
  workspace_id: WorkspaceId;
  key_id: KeyId;
  /** Null for a key that isn't blocked. */
  blocked_at: Date | null;
  /** The user who blocked it; null for the `latchkey` command and a deleted user. */
  blocked_by: UserId | null;
  /** When an admin last unblocked it, which restarts its idle time. */
  allowed_at: Date | null;
}

/** A secret of a key that was replaced by another one. */
export interface RetiredSecretTable {
  hash: Buffer;
  key_id: KeyId;
  start: string;
  retired_at: ColumnType<Date, never, never>;
  /** When the overlap ends or ended. */
  good_until: Date;
  /** When a request was last allowed with it, accurate to one minute. */
  last_used_at: ColumnType<Date | null, never, Date>;
  /** When a request with it was last rejected, and the address that the request came from. */
  refused_at: ColumnType<Date | null, never, Date>;
  refused_address: ColumnType<string | null, never, string | null>;
}

/** A named set of keys that a workspace issues to the consumers of its own API. */
export interface KeyspaceTable {
  workspace_id: WorkspaceId;
  id: KeyspaceId;
  name: string;
  /** Its keys start with this prefix and an underscore. */
  prefix: string;
  /** A label, such as `production`; empty by default. */
  environment: Generated<string>;
  /** The lifetime of new keys that are created without an expiry; null for no expiry. */
  default_lifetime_days: number | null;
  default_permissions: ColumnType<readonly string[], readonly string[] | undefined, readonly string[]>;
  default_limits: JsonColumn<readonly NamedLimit[]>;
  default_credits: JsonColumn<Credits | null>;
  disabled_at: Date | null;
  created_at: CreatedAt;
  updated_at: Generated<Date>;
  /** Incremented with every change to the settings. */
  version: Generated<number>;
}

/** A deleted keyspace whose keys and consumers are not yet purged. */
export interface DeletedKeyspaceTable {
  id: KeyspaceId;
  workspace_id: WorkspaceId;
  deleted_at: CreatedAt;
}

/** The customer or user of a workspace's own API that keys belong to. It is created with its first key. */
export interface ConsumerTable {
  workspace_id: WorkspaceId;
  keyspace_id: KeyspaceId;
  id: ConsumerId;
  external_id: string;
  /** The external ID in lower case. */
  external_id_search: ColumnType<string, never, never>;
  /** Limits that all keys of the consumer share. */
  limits: JsonColumn<readonly NamedLimit[]>;
  created_at: CreatedAt;
  updated_at: Generated<Date>;
  /**
   * When the consumer last lost a key or its limits changed; null after the purge found it in use, or since a key was added.
   */
  unused_since: ColumnType<Date | null, Date | null | undefined, Date | null>;
  /** Incremented with every change to the limits. */
  version: Generated<number>;
}

/** A key of a keyspace. Its balance of credits is in `key_counters`. */
export interface IssuedKeyTable {
  workspace_id: WorkspaceId;
  keyspace_id: KeyspaceId;
  id: IssuedKeyId;
  consumer_id: ConsumerId | null;
  /** SHA-256 of the whole secret, 32 bytes. */
  hash: Buffer;
  /** The first characters of the secret, by which people recognize the key. */
  start: string;
  name: Generated<string>;
  /** The name in lower case. */
  name_search: ColumnType<string, never, never>;
  meta: JsonColumn<Readonly<Record<string, unknown>>>;
  permissions: ColumnType<readonly string[], readonly string[] | undefined, readonly string[]>;
  limits: JsonColumn<readonly NamedLimit[]>;
  refill: JsonColumn<Refill | null>;
  expires_at: Date | null;
  /** When the key expires; the end of the year 9999 for never. */
  listed_expiry: ColumnType<Date, never, never>;
  disabled_at: Date | null;
  /** The IP ranges that the key may be used from, in CIDR notation; null for any address. */
  ip_ranges: readonly string[] | null;
  created_at: CreatedAt;
  updated_at: Generated<Date>;
  /** Incremented with every change to the settings, and with every rotation. */
  version: Generated<number>;
}

/** A permission of an issued key, by which keys are listed. Triggers write it. */
export interface IssuedKeyPermissionTable {
  workspace_id: ColumnType<WorkspaceId, never, never>;
  keyspace_id: ColumnType<KeyspaceId, never, never>;
  permission: ColumnType<string, never, never>;
  created_at: ColumnType<Date, never, never>;
  key_id: ColumnType<IssuedKeyId, never, never>;
}

/** The numbers of stored keys and consumers of a keyspace, including a deleted one that is not yet purged. Triggers write it. */
export interface IssuedKeyCountTable {
  workspace_id: WorkspaceId;
  keyspace_id: KeyspaceId;
  key_count: ColumnType<number, never, never>;
  consumer_count: ColumnType<number, never, never>;
}

/** A secret of an issued key that was replaced by another one. */
export interface RetiredIssuedSecretTable {
  hash: Buffer;
  workspace_id: WorkspaceId;
  keyspace_id: KeyspaceId;
  key_id: IssuedKeyId;
  start: string;
  retired_at: CreatedAt;
  /** When the overlap ends or ended. */
  good_until: Date;
}

/** The number of requests with a key that had one outcome in one hour, in one workspace or in none. */
export interface KeyUsageHourTable {
  key_id: KeyId;
  hour: Date;
  workspace_id: WorkspaceId | null;
  outcome: string;
  count: number;
}

/** The number of requests in a workspace that had one outcome in one hour, added up over all keys. */
export interface WorkspaceUsageHourTable {
  workspace_id: WorkspaceId;
  hour: Date;
  outcome: string;
  count: number;
}

/**
 * The number of verifications of the keys of a keyspace that had one outcome in one hour: of all keys, of one key, or of the
 * keys of one consumer.
 */
export interface KeyspaceUsageHourTable {
  workspace_id: WorkspaceId;
  subject_id: KeyspaceId | IssuedKeyId | ConsumerId;
  hour: Date;
  outcome: string;
  count: number;
}

/** The number of verifications of an issued key, or of the keys of a consumer, on one day. */
export interface KeyspaceUsageDayTable {
  workspace_id: WorkspaceId;
  keyspace_id: KeyspaceId;
  subject_id: IssuedKeyId | ConsumerId;
  is_consumer: boolean;
  /** In UTC, as `YYYY-MM-DD`. */
  day: ColumnType<never, string, never>;
  count: number;
  /** The verifications that were uses. */
  use_count: number;
  /** The binary logarithm of `count`, rounded down. */
  magnitude: number;
}

/** The number of verifications with a tag in one hour. */
export interface KeyspaceTagHourTable {
  workspace_id: WorkspaceId;
  keyspace_id: KeyspaceId;
  hour: Date;
  tag: string;
  count: number;
  /** The verifications that were uses. */
  use_count: number;
}

/** One of the latest rejected verifications of an issued key. */
export interface IssuedKeyRejectionTable {
  workspace_id: WorkspaceId;
  key_id: IssuedKeyId;
  id: KeyRejectionId;
  occurred_at: Date;
  code: string;
  /** The IP address of the consumer; null if the verification named none. */
  address: string | null;
  request_id: string;
}

/** The number of requests with a key that were allowed in a workspace on one day. */
export interface WorkspaceKeyDayTable {
  workspace_id: WorkspaceId;
  key_id: KeyId;
  /** In UTC, as `YYYY-MM-DD`. */
  day: ColumnType<never, string, never>;
  use_count: number;
  /** The beginning of the hour of the last of these requests. */
  last_used_at: Date;
}

/** An address that a key was used from. */
export interface KeyAddressTable {
  key_id: KeyId;
  address: string;
  /** Accurate to one minute. */
  last_seen_at: Date;
}

/** A network that a key was used from: an IPv4 /24 or an IPv6 /48 network. */
export interface KeyNetworkTable {
  key_id: KeyId;
  network: string;
  first_seen_at: Date;
  /** Accurate to one day. */
  last_seen_at: Date;
  /** Whether the job that finds notices has decided about it. */
  is_reviewed: Generated<boolean>;
}

/** A notice to a user. */
export interface NoticeTable {
  id: NoticeId;
  user_id: UserId;
  kind: NoticeKind;
  /** What the notice is about. A user gets one notice per kind and subject. */
  subject: string;
  facts: ColumnType<NoticeFacts, string, never>;
  /** Whether the app shows it, by the user's settings when it was created. */
  is_shown: boolean;
  /** Whether it is still to be emailed. */
  is_email_due: boolean;
  /** Until when a job is sending the email. */
  email_claimed_until: Date | null;
  emailed_at: Date | null;
  read_at: Date | null;
  created_at: CreatedAt;
}

/** How a user gets notices of one kind. Without a row, in the app and by email. */
export interface NoticeSettingTable {
  user_id: UserId;
  kind: NoticeKind;
  in_app: boolean;
  by_email: boolean;
}

/** A kind of device that a user has signed in from, such as “Chrome on macOS”. */
export interface KnownDeviceTable {
  user_id: UserId;
  device: string;
  last_used_at: Date;
}

/** A rejected request with a key. */
export interface KeyRejectionTable {
  key_id: KeyId;
  id: KeyRejectionId;
  occurred_at: Date;
  address: string | null;
  method: string;
  path: string;
  request_id: string;
  reason: string;
}

/**
 * The row of a key that admission updates, narrow and updated in place. `version` is incremented with every change that
 * could turn an allowed request into a rejected one or the reverse. A use is counted only if the version is the
 * expected one.
 */
export interface KeyCounterTable {
  /** An API key, an issued key, or a consumer, whose row has only the windows of its limits. */
  key_id: KeyId | IssuedKeyId | ConsumerId;
  version: Generated<number>;
  use_count: Generated<number>;
  last_used_at: Date | null;
  /**
   * When the rate limit's window ends or ended. Null, like the next two columns, for a key that never had a rate limit.
   */
  window_ends_at: Date | null;
  /** How many uses the rate limit has allowed in the window. */
  window_spent: number | null;
  /** How many uses of the last increment the rate limit has allowed. */
  last_granted: number | null;
  /** True from a rotation until exactly the first use of the new secret; null otherwise. */
  has_unused_secret: boolean | null;
  /** The balance of an issued key; null without credits. */
  credits: number | null;
  /** When the balance was last set or refilled. A refill that was due since then is added at the next use. */
  credits_refilled_at: Date | null;
  /** The windows of named limits, of an issued key or a consumer. */
  windows: JsonColumn<unknown>;
}

/**
 * The version of an owner of keys, which every change that affects admission by all of the owner's keys increments. Without
 * a row, the version is 0.
 */
export interface OwnerVersionTable {
  owner_id: UserId | WorkspaceId | KeyspaceId | ConsumerId;
  version: number;
}

/** What the nodes have in common. One row at most. */
export interface InstanceSettingsTable {
  is_only_row: Generated<boolean>;
  /** Whether the node that started last has an SMTP server. */
  sends_email: boolean;
}

/** Every table, by its name in Postgres. */
export interface Database {
  users: UserTable;
  sessions: SessionTable;
  accounts: AccountTable;
  verifications: VerificationTable;
  throttle_buckets: ThrottleBucketTable;
  sign_in_origins: SignInOriginTable;
  totp_factors: TotpFactorTable;
  recovery_codes: RecoveryCodeTable;
  passkeys: PasskeyTable;
  identities: IdentityTable;
  workspaces: WorkspaceTable;
  members: MemberTable;
  invitations: InvitationTable;
  webhooks: WebhookTable;
  webhook_deliveries: WebhookDeliveryTable;
  ownership_transfers: OwnershipTransferTable;
  former_users: FormerUserTable;
  api_key_policies: ApiKeyPolicyTable;
  workspace_key_access: WorkspaceKeyAccessTable;
  keyspaces: KeyspaceTable;
  deleted_keyspaces: DeletedKeyspaceTable;
  consumers: ConsumerTable;
  issued_keys: IssuedKeyTable;
  issued_key_counts: IssuedKeyCountTable;
  issued_key_permissions: IssuedKeyPermissionTable;
  retired_issued_secrets: RetiredIssuedSecretTable;
  api_keys: ApiKeyTable;
  key_counters: KeyCounterTable;
  owner_versions: OwnerVersionTable;
  retired_secrets: RetiredSecretTable;
  key_usage_hours: KeyUsageHourTable;
  workspace_usage_hours: WorkspaceUsageHourTable;
  workspace_key_days: WorkspaceKeyDayTable;
  keyspace_usage_hours: KeyspaceUsageHourTable;
  keyspace_usage_days: KeyspaceUsageDayTable;
  keyspace_tag_hours: KeyspaceTagHourTable;
  issued_key_rejections: IssuedKeyRejectionTable;
  key_addresses: KeyAddressTable;
  key_networks: KeyNetworkTable;
  key_refusals: KeyRejectionTable;
  audit_events: AuditEventTable;
  security_events: SecurityEventTable;
  idempotency_records: IdempotencyRecordTable;
  instance_events: InstanceEventTable;
  notices: NoticeTable;
  notice_settings: NoticeSettingTable;
  known_devices: KnownDeviceTable;
  instance_settings: InstanceSettingsTable;
}

/** The database, for single statements. */
export type Db = Kysely<Database>;
/** A transaction: everything in it is committed, or nothing. */
export type Trx = Transaction<Database>;
