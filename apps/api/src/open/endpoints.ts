import type { Endpoint } from "../http/endpoint.ts";
import { getApiKeyPolicy } from "./api-key-policy/get-api-key-policy.ts";
import { previewApiKeyPolicy } from "./api-key-policy/preview-api-key-policy.ts";
import { updateApiKeyPolicy } from "./api-key-policy/update-api-key-policy.ts";
import { deleteApiKey } from "./api-keys/delete-api-key.ts";
import { getApiKey } from "./api-keys/get-api-key.ts";
import { getApiKeyUsage } from "./api-keys/get-api-key-usage.ts";
import { listApiKeys } from "./api-keys/list-api-keys.ts";
import { revokeCurrentApiKey } from "./api-keys/revoke-current-api-key.ts";
import { revokeOldApiKeySecrets } from "./api-keys/revoke-old-api-key-secrets.ts";
import { rotateApiKey } from "./api-keys/rotate-api-key.ts";
import { updateApiKey } from "./api-keys/update-api-key.ts";
import { exportAuditEvents } from "./audit-events/export-audit-events.ts";
import { listAuditEvents } from "./audit-events/list-audit-events.ts";
import { previewAuditRetention } from "./audit-events/preview-audit-retention.ts";
import { getConsumer } from "./consumers/get-consumer.ts";
import { listConsumers } from "./consumers/list-consumers.ts";
import { updateConsumer } from "./consumers/update-consumer.ts";
import { getConfig } from "./global/get-config.ts";
import { createInvitation } from "./invitations/create-invitation.ts";
import { listInvitations } from "./invitations/list-invitations.ts";
import { resendInvitation } from "./invitations/resend-invitation.ts";
import { revokeInvitation } from "./invitations/revoke-invitation.ts";
import { changeIssuedKeyCredits } from "./issued-keys/change-issued-key-credits.ts";
import { changeIssuedKeys } from "./issued-keys/change-issued-keys.ts";
import { createIssuedKey } from "./issued-keys/create-issued-key.ts";
import { deleteIssuedKey } from "./issued-keys/delete-issued-key.ts";
import { getIssuedKey } from "./issued-keys/get-issued-key.ts";
import { listIssuedKeyRejections } from "./issued-keys/list-issued-key-rejections.ts";
import { listIssuedKeys } from "./issued-keys/list-issued-keys.ts";
import { revokeOldIssuedKeySecrets } from "./issued-keys/revoke-old-issued-key-secrets.ts";
import { rotateIssuedKey } from "./issued-keys/rotate-issued-key.ts";
import { rotateIssuedKeys } from "./issued-keys/rotate-issued-keys.ts";
import { updateIssuedKey } from "./issued-keys/update-issued-key.ts";
import { verifyKey } from "./keys/verify-key.ts";
import { verifyKeys } from "./keys/verify-keys.ts";
import { createKeyspace } from "./keyspaces/create-keyspace.ts";
import { deleteKeyspace } from "./keyspaces/delete-keyspace.ts";
import { getKeyspace } from "./keyspaces/get-keyspace.ts";
import { getKeyspaceUsage } from "./keyspaces/get-keyspace-usage.ts";
import { listKeyspaces } from "./keyspaces/list-keyspaces.ts";
import { previewKeyspaceDeletion } from "./keyspaces/preview-keyspace-deletion.ts";
import { updateKeyspace } from "./keyspaces/update-keyspace.ts";
import { getMe } from "./me/get-me.ts";
import { changeMemberRole } from "./members/change-member-role.ts";
import { getMember } from "./members/get-member.ts";
import { listAffectedApiKeys } from "./members/list-affected-api-keys.ts";
import { listMembers } from "./members/list-members.ts";
import { removeMember } from "./members/remove-member.ts";
import { listNotices } from "./notices/list-notices.ts";
import { markAllNoticesRead } from "./notices/mark-all-notices-read.ts";
import { markNoticeRead } from "./notices/mark-notice-read.ts";
import { acceptOwnership } from "./ownership-transfer/accept-ownership.ts";
import { endOwnershipTransfer } from "./ownership-transfer/end-ownership-transfer.ts";
import { getOwnershipTransfer } from "./ownership-transfer/get-ownership-transfer.ts";
import { offerOwnership } from "./ownership-transfer/offer-ownership.ts";
import { changeServiceAccount } from "./service-accounts/change-service-account.ts";
import { createServiceAccount } from "./service-accounts/create-service-account.ts";
import { createServiceAccountApiKey } from "./service-accounts/create-service-account-api-key.ts";
import { deleteServiceAccount } from "./service-accounts/delete-service-account.ts";
import { deleteServiceAccountApiKey } from "./service-accounts/delete-service-account-api-key.ts";
import { getServiceAccount } from "./service-accounts/get-service-account.ts";
import { getServiceAccountApiKey } from "./service-accounts/get-service-account-api-key.ts";
import { listServiceAccountApiKeys } from "./service-accounts/list-service-account-api-keys.ts";
import { listServiceAccounts } from "./service-accounts/list-service-accounts.ts";
import { revokeOldServiceAccountApiKeySecrets } from "./service-accounts/revoke-old-service-account-api-key-secrets.ts";
import { rotateServiceAccountApiKey } from "./service-accounts/rotate-service-account-api-key.ts";
import { updateServiceAccountApiKey } from "./service-accounts/update-service-account-api-key.ts";
import { createWebhook } from "./webhooks/create-webhook.ts";
import { deleteWebhook } from "./webhooks/delete-webhook.ts";
import { getWebhook } from "./webhooks/get-webhook.ts";
import { listWebhookDeliveries } from "./webhooks/list-webhook-deliveries.ts";
import { listWebhooks } from "./webhooks/list-webhooks.ts";
import { redeliverWebhookDelivery } from "./webhooks/redeliver-webhook-delivery.ts";
import { rotateWebhookSecret } from "./webhooks/rotate-webhook-secret.ts";
import { testWebhook } from "./webhooks/test-webhook.ts";
import { updateWebhook } from "./webhooks/update-webhook.ts";
import { blockWorkspaceApiKey } from "./workspace-api-keys/block-workspace-api-key.ts";
import { getWorkspaceApiKey } from "./workspace-api-keys/get-workspace-api-key.ts";
import { listWorkspaceApiKeys } from "./workspace-api-keys/list-workspace-api-keys.ts";
import { unblockWorkspaceApiKey } from "./workspace-api-keys/unblock-workspace-api-key.ts";
import { createWorkspace } from "./workspaces/create-workspace.ts";
import { deleteWorkspace } from "./workspaces/delete-workspace.ts";
import { getWorkspace } from "./workspaces/get-workspace.ts";
import { listWorkspaces } from "./workspaces/list-workspaces.ts";
import { renameWorkspace } from "./workspaces/rename-workspace.ts";

/** All endpoints of the open API, for the router, the OpenAPI document and the tests. */
export const endpoints: readonly Endpoint[] = [
  getConfig,
  getMe,
  listNotices,
  markNoticeRead,
  markAllNoticesRead,
  listApiKeys,
  revokeCurrentApiKey,
  getApiKey,
  updateApiKey,
  deleteApiKey,
  rotateApiKey,
  revokeOldApiKeySecrets,
  getApiKeyUsage,
  listWorkspaces,
  createWorkspace,
  getWorkspace,
  renameWorkspace,
  deleteWorkspace,
  listMembers,
  getMember,
  changeMemberRole,
  removeMember,
  listAffectedApiKeys,
  listServiceAccounts,
  createServiceAccount,
  getServiceAccount,
  changeServiceAccount,
  deleteServiceAccount,
  listServiceAccountApiKeys,
  createServiceAccountApiKey,
  getServiceAccountApiKey,
  updateServiceAccountApiKey,
  deleteServiceAccountApiKey,
  rotateServiceAccountApiKey,
  revokeOldServiceAccountApiKeySecrets,
  getOwnershipTransfer,
  offerOwnership,
  endOwnershipTransfer,
  acceptOwnership,
  listInvitations,
  createInvitation,
  resendInvitation,
  revokeInvitation,
  listKeyspaces,
  createKeyspace,
  getKeyspace,
  updateKeyspace,
  deleteKeyspace,
  previewKeyspaceDeletion,
  getKeyspaceUsage,
  listIssuedKeys,
  createIssuedKey,
  getIssuedKey,
  updateIssuedKey,
  deleteIssuedKey,
  rotateIssuedKey,
  revokeOldIssuedKeySecrets,
  changeIssuedKeyCredits,
  changeIssuedKeys,
  rotateIssuedKeys,
  listConsumers,
  getConsumer,
  updateConsumer,
  listIssuedKeyRejections,
  listWebhooks,
  createWebhook,
  getWebhook,
  updateWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  testWebhook,
  listWebhookDeliveries,
  redeliverWebhookDelivery,
  listWorkspaceApiKeys,
  getWorkspaceApiKey,
  blockWorkspaceApiKey,
  unblockWorkspaceApiKey,
  getApiKeyPolicy,
  updateApiKeyPolicy,
  previewApiKeyPolicy,
  listAuditEvents,
  exportAuditEvents,
  previewAuditRetention,
  verifyKey,
  verifyKeys,
];
