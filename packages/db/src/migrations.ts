import type { Migration } from "kysely/migration";
import * as initialSchema from "./migrations/0001-ground-floor.ts";
import * as tenantIsolation from "./migrations/0002-the-wall.ts";
import * as keyRestrictions from "./migrations/0003-narrowed-keys.ts";
import * as accounts from "./migrations/0004-accounts.ts";
import * as retriedRotation from "./migrations/0006-retried-rotation.ts";
import * as migrationChecksums from "./migrations/0008-migration-checksums.ts";
import * as restorableDumps from "./migrations/0009-restorable-dumps.ts";
import * as purgedKeys from "./migrations/0010-purged-keys.ts";
import * as workspaceDescriptions from "./migrations/0011-workspace-descriptions.ts";
import * as workspaceOverview from "./migrations/0012-workspace-overview.ts";
import * as workspaceUses from "./migrations/0013-workspace-uses.ts";
import * as auditFilters from "./migrations/0014-audit-filters.ts";
import * as accountSecurity from "./migrations/0015-account-security.ts";
import * as invitations from "./migrations/0016-invitations.ts";
import * as jobs from "./migrations/0017-jobs.ts";
import * as workspaceUsageRollups from "./migrations/0018-workspace-usage-rollups.ts";
import * as ownershipTransfers from "./migrations/0019-ownership-transfers.ts";
import * as secondFactors from "./migrations/0020-second-factors.ts";
import * as serviceAccounts from "./migrations/0021-service-accounts.ts";
import * as apiKeyPolicies from "./migrations/0022-api-key-policies.ts";
import * as instanceLog from "./migrations/0023-instance-log.ts";
import * as auditTargets from "./migrations/0024-audit-targets.ts";
import * as identities from "./migrations/0025-identities.ts";
import * as notices from "./migrations/0026-notices.ts";
import * as webhooks from "./migrations/0027-webhooks.ts";
import * as auditRetention from "./migrations/0028-audit-retention.ts";
import * as operatorInspection from "./migrations/0029-operator-inspection.ts";
import * as systemActor from "./migrations/0030-system-actor.ts";
import * as instanceSettings from "./migrations/0031-instance-settings.ts";
import * as addQueuedJobs from "./migrations/0032-add-queued-jobs.ts";
import * as ownerVersions from "./migrations/0033-owner-versions.ts";
import * as keyspaces from "./migrations/0034-keyspaces.ts";
import * as verification from "./migrations/0035-verification.ts";
import * as slowWebhooks from "./migrations/0036-slow-webhooks.ts";
import * as factorsOfKeyOwners from "./migrations/0037-factors-of-key-owners.ts";
import * as verificationRecords from "./migrations/0038-verification-records.ts";
import * as consumers from "./migrations/0039-consumers.ts";
import * as issuedKeyLists from "./migrations/0040-issued-key-lists.ts";
import * as keyspaceUsage from "./migrations/0042-keyspace-usage.ts";
import * as ownersOfAuditedKeys from "./migrations/0043-owners-of-audited-keys.ts";
import * as outdatedBatches from "./migrations/0048-outdated-batches.ts";
import * as startsOfFormerSecrets from "./migrations/0050-starts-of-former-secrets.ts";
import * as verificationsOfWorkspaces from "./migrations/0051-verifications-of-workspaces.ts";
import * as disabledWorkspaces from "./migrations/0052-disabled-workspaces.ts";
import * as differencesOfPermissions from "./migrations/0054-differences-of-permissions.ts";
import * as usesOfIssuedKeys from "./migrations/0055-uses-of-issued-keys.ts";
import * as listedPermissions from "./migrations/0056-listed-permissions.ts";
import * as recordsOfDeletedUsers from "./migrations/0057-records-of-deleted-users.ts";
import * as recordsLeftToThePurge from "./migrations/0058-records-left-to-the-purge.ts";
import * as deletedWorkspaces from "./migrations/0059-deleted-workspaces.ts";
import * as securityEventsByAction from "./migrations/0060-security-events-by-action.ts";
import * as auditEventsByActorAndAction from "./migrations/0061-audit-events-by-actor-and-action.ts";
import * as queuesOfDeletedWebhooks from "./migrations/0062-queues-of-deleted-webhooks.ts";
import * as missingJobs from "./migrations/0063-missing-jobs.ts";
import * as auditEventsByTargetAndAction from "./migrations/0064-audit-events-by-target-and-action.ts";
import * as verificationsBySubject from "./migrations/0065-verifications-by-subject.ts";
import * as deliveriesByStatus from "./migrations/0066-deliveries-by-status.ts";
import * as delayedJobs from "./migrations/0067-delayed-jobs.ts";

/** One step in the history of the schema. */
export interface SchemaMigration extends Migration {
  /**
   * The migration that a version of Latchkey must include to run on the schema after this migration. Omitted by a
   * migration that only adds, because every earlier version can run on its schema.
   */
  readonly compatibleFrom?: string;
  /**
   * Whether the migrations before it are committed first; false by default. For a migration that takes long, and must not hold
   * their locks. The migrations after it share its transaction, up to the next one that starts another.
   */
  readonly startsTransaction?: boolean;
}

/** Migrations by name; the names are in order. */
export type Migrations = Readonly<Record<string, SchemaMigration>>;

/** Every migration in order. Databases store the names, so migrations are added and never renamed or reordered. */
export const migrations: Migrations = {
  "0001-ground-floor": initialSchema,
  "0002-the-wall": tenantIsolation,
  "0003-narrowed-keys": keyRestrictions,
  "0004-accounts": accounts,
  "0006-retried-rotation": retriedRotation,
  "0008-migration-checksums": migrationChecksums,
  "0009-restorable-dumps": restorableDumps,
  "0010-purged-keys": purgedKeys,
  "0011-workspace-descriptions": workspaceDescriptions,
  "0012-workspace-overview": workspaceOverview,
  "0013-workspace-uses": workspaceUses,
  "0014-audit-filters": auditFilters,
  "0015-account-security": accountSecurity,
  "0016-invitations": invitations,
  "0017-jobs": jobs,
  "0018-workspace-usage-rollups": workspaceUsageRollups,
  "0019-ownership-transfers": ownershipTransfers,
  "0020-second-factors": secondFactors,
  "0021-service-accounts": serviceAccounts,
  "0022-api-key-policies": apiKeyPolicies,
  "0023-instance-log": instanceLog,
  "0024-audit-targets": auditTargets,
  "0025-identities": identities,
  "0026-notices": notices,
  "0027-webhooks": webhooks,
  "0028-audit-retention": auditRetention,
  "0029-operator-inspection": operatorInspection,
  "0030-system-actor": systemActor,
  "0031-instance-settings": instanceSettings,
  "0032-add-queued-jobs": addQueuedJobs,
  "0033-owner-versions": ownerVersions,
  "0034-keyspaces": keyspaces,
  "0035-verification": verification,
  "0036-slow-webhooks": slowWebhooks,
  "0037-factors-of-key-owners": factorsOfKeyOwners,
  "0038-verification-records": verificationRecords,
  "0039-consumers": consumers,
  "0040-issued-key-lists": issuedKeyLists,
  "0042-keyspace-usage": keyspaceUsage,
  "0043-owners-of-audited-keys": ownersOfAuditedKeys,
  "0048-outdated-batches": outdatedBatches,
  "0050-starts-of-former-secrets": startsOfFormerSecrets,
  "0051-verifications-of-workspaces": verificationsOfWorkspaces,
  "0052-disabled-workspaces": disabledWorkspaces,
  "0054-differences-of-permissions": differencesOfPermissions,
  "0055-uses-of-issued-keys": usesOfIssuedKeys,
  "0056-listed-permissions": listedPermissions,
  "0057-records-of-deleted-users": recordsOfDeletedUsers,
  "0058-records-left-to-the-purge": recordsLeftToThePurge,
  // Waits for work on large logs, and must not hold the locks of the migrations before it while it does.
  "0059-deleted-workspaces": { ...deletedWorkspaces, startsTransaction: true },
  "0060-security-events-by-action": securityEventsByAction,
  "0061-audit-events-by-actor-and-action": auditEventsByActorAndAction,
  "0062-queues-of-deleted-webhooks": queuesOfDeletedWebhooks,
  "0063-missing-jobs": missingJobs,
  "0064-audit-events-by-target-and-action": auditEventsByTargetAndAction,
  "0065-verifications-by-subject": verificationsBySubject,
  "0066-deliveries-by-status": deliveriesByStatus,
  "0067-delayed-jobs": delayedJobs,
};
