import type { Kysely, Transaction } from "kysely";
import type {
  KeyAddressTable,
  KeyNetworkTable,
  KeyRejectionTable,
  KeyUsageHourTable,
  WorkspaceKeyDayTable,
  WorkspaceUsageHourTable,
} from "./schema/api-key-history.ts";
import type {
  ApiKeyPolicyTable,
  ApiKeyTable,
  IdempotencyRecordTable,
  RetiredSecretTable,
  WorkspaceKeyAccessTable,
} from "./schema/api-keys.ts";
import type { AuditEventTable, InstanceEventTable, SecurityEventTable } from "./schema/events.ts";
import type { InstanceSettingsTable } from "./schema/instance.ts";
import type { IssuedKeyUseTable, KeyCounterTable, OwnerVersionTable } from "./schema/key-state.ts";
import type {
  IssuedKeyRejectionTable,
  KeyspaceTagHourTable,
  KeyspaceUsageDayTable,
  KeyspaceUsageHourTable,
} from "./schema/keyspace-history.ts";
import type {
  ConsumerTable,
  DeletedKeyspaceTable,
  IssuedKeyCountTable,
  IssuedKeyPermissionTable,
  IssuedKeyTable,
  KeyspaceTable,
  RetiredIssuedSecretTable,
} from "./schema/keyspaces.ts";
import type { NoticeSettingTable, NoticeTable } from "./schema/notices.ts";
import type {
  AccountTable,
  FormerUserTable,
  IdentityTable,
  KnownDeviceTable,
  PasskeyTable,
  RecoveryCodeTable,
  SessionTable,
  SignInOriginTable,
  ThrottleBucketTable,
  TotpFactorTable,
  UserTable,
  VerificationTable,
} from "./schema/users.ts";
import type { DeletedWebhookTable, WebhookDeliveryTable, WebhookTable } from "./schema/webhooks.ts";
import type {
  DeletedWorkspaceTable,
  InvitationTable,
  MemberTable,
  OwnershipTransferTable,
  WorkspaceTable,
} from "./schema/workspaces.ts";

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
  deleted_workspaces: DeletedWorkspaceTable;
  members: MemberTable;
  invitations: InvitationTable;
  webhooks: WebhookTable;
  webhook_deliveries: WebhookDeliveryTable;
  deleted_webhooks: DeletedWebhookTable;
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
  issued_key_uses: IssuedKeyUseTable;
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
