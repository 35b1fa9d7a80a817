import type { UserId } from "@latchkey/db/ids";
import type { NoticedQuota } from "@latchkey/db/notice-kinds";
import { addNotices } from "@latchkey/db/notices";
import type { Trx } from "@latchkey/db/schema";
import type { Workspace } from "@latchkey/db/workspaces";
import { AppError } from "@latchkey/errors";
import { type Message, writeMessage } from "@latchkey/errors/message";
import { issuedKeyLimits } from "@latchkey/limits";

/** The quotas of each user and each workspace. Lowering a quota deletes nothing. */
export interface Quotas {
  /** Keys that aren't deleted. */
  readonly keysPerUser: number;
  /** Workspaces that the user owns. */
  readonly workspacesPerUser: number;
  /** Workspaces that the user is a member of, including those that the user owns. */
  readonly membershipsPerUser: number;
  /** People; service accounts have their own quota. */
  readonly membersPerWorkspace: number;
  readonly serviceAccountsPerWorkspace: number;
  /** Invitations that nobody has accepted yet, including expired ones. */
  readonly invitationsPerWorkspace: number;
  readonly webhooksPerWorkspace: number;
  readonly keyspacesPerWorkspace: number;
  /** Keys of all keyspaces, including deleted keyspaces that are not yet purged. */
  readonly issuedKeysPerWorkspace: number;
  /** Invitations that one user sends, in all workspaces, including repeated ones. */
  readonly invitationsPerHour: number;
  /** Changes to API keys by one user. Disabling, revoking and deleting are always possible. */
  readonly keyChangesPerHour: number;
  /**
   * Secrets of issued keys that one user creates in all workspaces, by creating and rotating keys and by retrying these requests, and keys
   * that the user enables.
   */
  readonly issuedSecretsPerHour: number;
}

export const defaultQuotas: Quotas = {
  keysPerUser: 1_000,
  workspacesPerUser: 100,
  membershipsPerUser: 200,
  membersPerWorkspace: 1_000,
  serviceAccountsPerWorkspace: 100,
  invitationsPerWorkspace: 500,
  webhooksPerWorkspace: 10,
  keyspacesPerWorkspace: 100,
  issuedKeysPerWorkspace: 1_000_000,
  invitationsPerHour: 100,
  keyChangesPerHour: 2_000,
  issuedSecretsPerHour: 100_000,
};

/**
 * The maximum number of invitations per workspace that a user without the permission to manage members can have at a
 * time. Expired invitations count, accepted and revoked ones don't. Without this limit, one member could use up the
 * quota of the workspace.
 */
export const maxInvitationsPerMember = 25;

const quotaTexts = {
  keysPerUser: {
    subject: "API keys per user",
    variable: "MAX_KEYS_PER_USER",
    remedy: "Delete a key that is no longer used",
  },
  workspacesPerUser: {
    subject: "workspaces owned by one user",
    variable: "MAX_WORKSPACES_PER_USER",
    remedy: "Delete a workspace that is no longer used",
  },
  membershipsPerUser: {
    subject: "workspaces that one user is a member of",
    variable: "MAX_MEMBERSHIPS_PER_USER",
    remedy: "Leave a workspace",
  },
  membersPerWorkspace: {
    subject: "members per workspace",
    variable: "MAX_MEMBERS_PER_WORKSPACE",
    remedy: "Remove a member",
  },
  serviceAccountsPerWorkspace: {
    subject: "service accounts per workspace",
    variable: "MAX_SERVICE_ACCOUNTS_PER_WORKSPACE",
    remedy: "Delete a service account that is no longer used",
  },
  invitationsPerWorkspace: {
    subject: "invitations per workspace",
    variable: "MAX_INVITATIONS_PER_WORKSPACE",
    remedy: "Revoke an invitation",
  },
  webhooksPerWorkspace: {
    subject: "webhooks per workspace",
    variable: "MAX_WEBHOOKS_PER_WORKSPACE",
    remedy: "Delete a webhook",
  },
  keyspacesPerWorkspace: {
    subject: "keyspaces per workspace",
    variable: "MAX_KEYSPACES_PER_WORKSPACE",
    remedy: "Delete a keyspace that is no longer used",
  },
  issuedKeysPerWorkspace: {
    subject: "issued keys per workspace",
    variable: "MAX_ISSUED_KEYS_PER_WORKSPACE",
    remedy: "Delete keys that are no longer used",
  },
} as const satisfies Record<StoredQuota, object>;

/** The quotas of what is stored. Earlier versions, which may run at the same time, can't show a notice about memberships. */
type StoredQuota = NoticedQuota | "membershipsPerUser";

/**
 * Checks that a quota allows one more. The caller must hold a lock that prevents concurrent additions between the
 * count and the end of the transaction.
 * @throws {AppError} UNPROCESSABLE_CONTENT with an issue `quota_exceeded`. Not 429, which clients retry automatically,
 *   nor 403, which gives no reason.
 */
export function requireQuota(quotas: Quotas, name: StoredQuota, count: number): void {
  if (count < quotas[name]) return;
  const { subject, variable, remedy } = quotaTexts[name];
  throw quotaExceeded([
    `The quota for ${subject} (`,
    { count: quotas[name] },
    `) is reached. ${remedy}, or ask the operator to raise ${variable}.`,
  ]);
}

/**
 * Checks that {@link maxInvitationsPerMember} allows one more invitation by a user, as {@link requireQuota}.
 * @throws {AppError} UNPROCESSABLE_CONTENT with an issue `quota_exceeded`.
 */
export function requireInvitationsPerMember(count: number): void {
  if (count < maxInvitationsPerMember) return;
  throw quotaExceeded([
    `You have ${maxInvitationsPerMember} invitations to this workspace that nobody has accepted yet. Without the permission to manage members, you can’t have more. Revoke one, or ask an owner or admin to invite people.`,
  ]);
}

/**
 * Checks the number of consumers of a workspace, with one that was just added. A workspace can have as many consumers as
 * issued keys. Consumers without keys count until they are purged.
 * @throws {AppError} UNPROCESSABLE_CONTENT with an issue `quota_exceeded`.
 */
export function requireConsumerQuota(quotas: Quotas, count: number): void {
  if (count <= quotas.issuedKeysPerWorkspace) return;
  throw quotaExceeded([
    "The quota for consumers per workspace (",
    { count: quotas.issuedKeysPerWorkspace },
    ") is reached. Consumers without keys and limits are removed after 30 days. Wait, delete a keyspace that is no longer used, or ask the operator to raise MAX_ISSUED_KEYS_PER_WORKSPACE.",
  ]);
}

/**
 * Checks that a consumer can have one more key, as {@link requireQuota}. The maximum lets one request change all keys of a
 * consumer.
 * @throws {AppError} UNPROCESSABLE_CONTENT with an issue `quota_exceeded`.
 */
export function requireKeysPerConsumer(count: number): void {
  const max = issuedKeyLimits.maxKeysPerConsumer;
  if (count < max) return;
  throw quotaExceeded([
    "This consumer has ",
    { count: max },
    " keys, which is the maximum. Delete keys that are no longer used.",
  ]);
}

function quotaExceeded(message: Message): AppError {
  return new AppError("UNPROCESSABLE_CONTENT", {
    message,
    issues: [{ path: "", code: "quota_exceeded", message: writeMessage(message) }],
  });
}

/**
 * Adds a notice if at least nine tenths of a quota are used, once per value of the quota.
 * @param count with the addition that was just made.
 */
export async function addQuotaNotice(
  trx: Trx,
  quotas: Quotas,
  {
    quota,
    count,
    userIds,
    workspace,
    serviceAccount,
  }: {
    readonly quota: NoticedQuota;
    readonly count: number;
    readonly userIds: readonly UserId[];
    /** For a quota of a workspace, or of a service account of this workspace. */
    readonly workspace?: Pick<Workspace, "id" | "name">;
    readonly serviceAccount?: { readonly id: UserId; readonly name: string };
  },
): Promise<void> {
  if (!isNearlyReached(quotas, { quota, count })) return;
  const limit = quotas[quota];
  const owner = serviceAccount ?? workspace;
  const subject = [quota, ...(owner ? [owner.id] : []), limit].join(" ");
  const facts = {
    quota,
    count,
    limit,
    workspaceId: workspace?.id ?? null,
    workspaceName: workspace?.name ?? null,
    ...(serviceAccount && { serviceAccount }),
  };
  await addNotices(
    trx,
    userIds.map((userId) => ({ kind: "quota-nearly-reached" as const, userId, subject, facts })),
  );
}

/** Whether at least nine tenths of a quota are used. */
export function isNearlyReached(
  quotas: Quotas,
  { quota, count }: { readonly quota: NoticedQuota; readonly count: number },
): boolean {
  return count * 10 >= quotas[quota] * 9;
}
