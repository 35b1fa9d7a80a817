// Calls every endpoint of the open API as every caller, and checks the status and the changed rows.
import { roleHasPermission } from "@latchkey/auth/permissions";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Endpoint } from "../../src/http/endpoint.ts";
import { endpoints } from "../../src/open/endpoints.ts";
import { sendRaw, startTestApp, type TestApp } from "../test-app.ts";
import {
  addNotice,
  addOwnershipTransfer,
  listHiddenText,
  prepareFixture,
  type TenantFixture,
} from "./fixture.ts";
import { type Person, timeOfUse } from "./fixture-rows.ts";
import { type Effect, expectEffect, observe } from "./rows.ts";
import { type Caller, callers, readTable } from "./table.ts";

const table = readTable(`
                                          nobody  stranger  removed  viewer  member  admin  owner
  getConfiguration                        401     200       200      200     200     200    200
  getMe                                   401     200       200      200     200     200    200
  listNotices                             401     200       200      200     200     200    200
  markNoticeRead                          401     404       404      404     404     404    404
  markNoticeRead, their own               401     200       200      200     200     200    200
  markAllNoticesRead                      401     204       204      204     204     204    204
  listApiKeys                             401     200       200      200     200     200    200
  revokeCurrentApiKey                     401     204       204      204     204     204    204
  getApiKey                               401     403       403      403     403     403    200
  updateApiKey                            401     403       403      403     403     403    200
  deleteApiKey                            401     403       403      403     403     403    204
  rotateApiKey                            401     403       403      403     403     403    200
  revokeOldApiKeySecrets                  401     403       403      403     403     403    200
  getApiKeyUsage                          401     403       403      403     403     403    200
  listWorkspaces                          401     200       200      200     200     200    200
  createWorkspace                         401     201       201      201     201     201    201
  getWorkspace                            401     403       403      200     200     200    200
  renameWorkspace                         401     403       403      403     403     200    200
  deleteWorkspace                         401     403       403      403     403     403    204
  listMembers                             401     403       403      200     200     200    200
  getMember                               401     403       403      200     200     200    200
  getMember, of another workspace         401     403       403      404     404     404    404
  changeMemberRole                        401     403       403      403     403     200    200
  changeMemberRole, to owner              401     403       403      403     403     403    200
  changeMemberRole, of an owner           401     403       403      403     403     403    200
  changeMemberRole, of another workspace  401     403       403      403     403     404    404
  removeMember                            401     403       403      403     403     204    204
  removeMember, oneself                   401     403       403      204     204     204    204
  removeMember, an owner                  401     403       403      403     403     403    204
  removeMember, of another workspace      401     403       403      404     404     404    404
  listAffectedApiKeys                     401     403       403      403     403     200    200
  listAffectedApiKeys, their own          401     403       403      200     200     200    200
  listAffectedApiKeys, of another one     401     403       403      403     403     404    404
  listServiceAccounts                     401     403       403      200     200     200    200
  createServiceAccount                    401     403       403      403     403     201    201
  getServiceAccount                       401     403       403      200     200     200    200
  getServiceAccount, of another one       401     403       403      404     404     404    404
  changeServiceAccount                    401     403       403      403     403     200    200
  changeServiceAccount, of another one    401     403       403      403     403     404    404
  deleteServiceAccount                    401     403       403      403     403     204    204
  deleteServiceAccount, of another one    401     403       403      403     403     404    404
  deleteServiceAccount, of a person       401     403       403      403     403     404    404
  listServiceAccountApiKeys               401     403       403      403     403     200    200
  listServiceAccountApiKeys, foreign      401     403       403      403     403     404    404
  createServiceAccountApiKey              401     403       403      403     403     201    201
  createServiceAccountApiKey, foreign     401     403       403      403     403     404    404
  getServiceAccountApiKey                 401     403       403      403     403     200    200
  getServiceAccountApiKey, foreign        401     403       403      403     403     404    404
  getServiceAccountApiKey, a person       401     403       403      403     403     404    404
  updateServiceAccountApiKey              401     403       403      403     403     200    200
  updateServiceAccountApiKey, foreign     401     403       403      403     403     404    404
  updateServiceAccountApiKey, a person    401     403       403      403     403     404    404
  deleteServiceAccountApiKey              401     403       403      403     403     204    204
  deleteServiceAccountApiKey, foreign     401     403       403      403     403     404    404
  deleteServiceAccountApiKey, a person    401     403       403      403     403     404    404
  rotateServiceAccountApiKey              401     403       403      403     403     200    200
  rotateServiceAccountApiKey, foreign     401     403       403      403     403     404    404
  rotateServiceAccountApiKey, a person    401     403       403      403     403     404    404
  revokeOldServiceAccountApiKeySecrets    401     403       403      403     403     200    200
  revokeOldServiceAccountApiKeySecrets, foreign  401  403   403      403     403     404    404
  revokeOldServiceAccountApiKeySecrets, a person  401  403  403      403     403     404    404
  getOwnershipTransfer                    401     403       403      200     200     200    200
  getOwnershipTransfer, none              401     403       403      404     404     404    404
  offerOwnership                          401     403       403      403     403     403    201
  offerOwnership, to another workspace    401     403       403      403     403     403    404
  endOwnershipTransfer                    401     403       403      403     204     403    204
  acceptOwnership                         401     403       403      403     200     403    403
  listInvitations                         401     403       403      403     200     200    200
  listInvitations, filtered               401     403       403      403     200     200    200
  createInvitation                        401     403       403      403     201     201    201
  createInvitation, for an admin          401     403       403      403     403     201    201
  createInvitation, for an owner          401     403       403      403     403     403    201
  resendInvitation                        401     403       403      403     404     200    200
  resendInvitation, of the member         401     403       403      403     200     200    200
  resendInvitation, of another workspace  401     403       403      403     404     404    404
  revokeInvitation                        401     403       403      403     404     204    204
  revokeInvitation, of the member         401     403       403      403     204     204    204
  revokeInvitation, of another workspace  401     403       403      403     404     404    404
  listKeyspaces                           401     403       403      200     200     200    200
  createKeyspace                          401     403       403      403     403     201    201
  getKeyspace                             401     403       403      200     200     200    200
  getKeyspace, of another workspace       401     403       403      404     404     404    404
  updateKeyspace                          401     403       403      403     403     200    200
  updateKeyspace, of another workspace    401     403       403      403     403     404    404
  deleteKeyspace                          401     403       403      403     403     204    204
  deleteKeyspace, of another workspace    401     403       403      403     403     404    404
  previewKeyspaceDeletion                 401     403       403      403     403     200    200
  previewKeyspaceDeletion, of another     401     403       403      403     403     404    404
  getKeyspaceUsage                        401     403       403      200     200     200    200
  getKeyspaceUsage, of another workspace  401     403       403      404     404     404    404
  getKeyspaceUsage, key                   401     403       403      200     200     200    200
  getKeyspaceUsage, foreign key           401     403       403      404     404     404    404
  getKeyspaceUsage, consumer              401     403       403      200     200     200    200
  getKeyspaceUsage, foreign consumer      401     403       403      404     404     404    404
  listIssuedKeys                          401     403       403      200     200     200    200
  listIssuedKeys, of another workspace    401     403       403      404     404     404    404
  createIssuedKey                         401     403       403      403     403     201    201
  createIssuedKey, of another workspace   401     403       403      403     403     404    404
  getIssuedKey                            401     403       403      200     200     200    200
  getIssuedKey, of another workspace      401     403       403      404     404     404    404
  getIssuedKey, of another keyspace       401     403       403      404     404     404    404
  updateIssuedKey                         401     403       403      403     403     200    200
  updateIssuedKey, of another workspace   401     403       403      403     403     404    404
  updateIssuedKey, of another keyspace    401     403       403      403     403     404    404
  deleteIssuedKey                         401     403       403      403     403     204    204
  deleteIssuedKey, of another workspace   401     403       403      403     403     404    404
  deleteIssuedKey, of another keyspace    401     403       403      403     403     404    404
  rotateIssuedKey                         401     403       403      403     403     200    200
  rotateIssuedKey, of another workspace   401     403       403      403     403     404    404
  rotateIssuedKey, of another keyspace    401     403       403      403     403     404    404
  revokeOldIssuedKeySecrets               401     403       403      403     403     200    200
  revokeOldIssuedKeySecrets, foreign      401     403       403      403     403     404    404
  revokeOldIssuedKeySecrets, of another   401     403       403      403     403     404    404
  changeIssuedKeyCredits                  401     403       403      403     403     200    200
  changeIssuedKeyCredits, foreign         401     403       403      403     403     404    404
  changeIssuedKeyCredits, of another      401     403       403      403     403     404    404
  changeIssuedKeys                        401     403       403      403     403     200    200
  changeIssuedKeys, of a consumer         401     403       403      403     403     200    200
  changeIssuedKeys, of another workspace  401     403       403      403     403     404    404
  changeIssuedKeys, of another keyspace   401     403       403      403     403     200    200
  rotateIssuedKeys                        401     403       403      403     403     200    200
  rotateIssuedKeys, of a consumer         401     403       403      403     403     200    200
  rotateIssuedKeys, of another workspace  401     403       403      403     403     404    404
  rotateIssuedKeys, of another keyspace   401     403       403      403     403     200    200
  listConsumers                           401     403       403      200     200     200    200
  listConsumers, of another workspace     401     403       403      404     404     404    404
  getConsumer                             401     403       403      200     200     200    200
  getConsumer, of another workspace       401     403       403      404     404     404    404
  getConsumer, of another keyspace        401     403       403      404     404     404    404
  updateConsumer                          401     403       403      403     403     200    200
  updateConsumer, of another workspace    401     403       403      403     403     404    404
  updateConsumer, of another keyspace     401     403       403      403     403     404    404
  listIssuedKeyRejections                 401     403       403      200     200     200    200
  listIssuedKeyRejections, of another     401     403       403      404     404     404    404
  listWebhooks                            401     403       403      403     403     200    200
  createWebhook                           401     403       403      403     403     201    201
  getWebhook                              401     403       403      403     403     200    200
  getWebhook, of another workspace        401     403       403      403     403     404    404
  updateWebhook                           401     403       403      403     403     200    200
  updateWebhook, of another workspace     401     403       403      403     403     404    404
  deleteWebhook                           401     403       403      403     403     204    204
  deleteWebhook, of another workspace     401     403       403      403     403     404    404
  rotateWebhookSecret                     401     403       403      403     403     200    200
  rotateWebhookSecret, of another one     401     403       403      403     403     404    404
  testWebhook                             401     403       403      403     403     201    201
  testWebhook, of another workspace       401     403       403      403     403     404    404
  listWebhookDeliveries                   401     403       403      403     403     200    200
  listWebhookDeliveries, of another one   401     403       403      403     403     404    404
  redeliverWebhookDelivery                401     403       403      403     403     200    200
  redeliverWebhookDelivery, of another    401     403       403      403     403     404    404
  listWorkspaceApiKeys                    401     403       403      403     403     200    200
  getWorkspaceApiKey                      401     403       403      403     403     200    200
  blockWorkspaceApiKey                    401     403       403      403     403     204    204
  unblockWorkspaceApiKey                  401     403       403      403     403     204    204
  getApiKeyPolicy                         401     403       403      200     200     200    200
  updateApiKeyPolicy                      401     403       403      403     403     200    200
  previewApiKeyPolicy                     401     403       403      403     403     200    200
  listAuditEvents                         401     403       403      403     403     200    200
  exportAuditEvents                       401     403       403      403     403     200    200
  previewAuditRetention                   401     403       403      403     403     403    200
  verifyKey                               401     200       200      200     200     200    200
  verifyKey, an issued key                401     200       200      200     200     200    200
  verifyKey, of another workspace         401     200       200      200     200     200    200
  verifyKeys                              401     200       200      200     200     200    200
  verifyKeys, an issued key               401     200       200      200     200     200    200
`);

type Member = Exclude<Caller, "nobody">;

/** What a call sends and, if it is allowed, which rows it changes and what its response contains. */
interface Plan {
  readonly body?: object | ((fixture: TenantFixture) => object);
  readonly query?: string | ((fixture: TenantFixture) => string);
  /** Whether the co-owner has offered ownership to the member. */
  readonly hasTransfer?: boolean;
  /** The invitation in the path; `tenant` by default. */
  readonly invitationOf?: keyof TenantFixture["invitations"];
  /** The workspace of the webhook and the delivery in the path; `tenant` by default. */
  readonly webhookOf?: "tenant" | "otherTenant";
  /** The workspace of the keyspace in the path; `tenant` by default. */
  readonly keyspaceOf?: "tenant" | "otherTenant";
  /** The workspace of the issued key in the path; `tenant` by default. */
  readonly issuedKeyOf?: "tenant" | "otherTenant";
  /** The owner of the key in the path: the owner of our workspace by default, or our service account. */
  readonly keyOf?: "owner" | "serviceAccount";
  /** Whether the caller and the target have a notice each. The path has the latter's by default. */
  readonly noticeOf?: "target" | "caller";
  /** The user in the path. */
  readonly user?: (fixture: TenantFixture, caller: Caller) => Person;
  readonly effect?: (fixture: TenantFixture, actor: Person) => Effect;
  readonly shows?: (fixture: TenantFixture, caller: Member) => readonly string[];
  /** What the response doesn't contain, in addition to what no response to the caller contains. */
  readonly hides?: (fixture: TenantFixture, caller: Caller) => readonly string[];
  /** Whether the response shows admins the keys that can reach their workspace. */
  readonly showsKeys?: boolean;
}

function queryOf({ query = "" }: Plan, fixture: TenantFixture): string {
  return typeof query === "string" ? query : query(fixture);
}

const usageQuery = `groupBy=key&from=${timeOfUse.toISOString()}&to=${new Date(timeOfUse.getTime() + 1).toISOString()}&bucket=hour`;

const outcomeQuery = usageQuery.replace("groupBy=key", "groupBy=outcome");

const plans: Readonly<Record<string, Plan>> = {
  getConfiguration: { shows: () => ["registration"] },
  getMe: { shows: listOwnWorkspace },
  listNotices: {
    query: "isUnread=true",
    noticeOf: "caller",
    shows: ({ people }, caller) => [`“${people[caller].email}”`],
    hides: ({ people }) => [`“${people.target.email}”`],
  },
  markNoticeRead: { noticeOf: "target", body: { isRead: true } },
  "markNoticeRead, their own": {
    noticeOf: "caller",
    body: { isRead: true },
    effect: readOwnNotice,
    shows: ({ people }, caller) => [`“${people[caller].email}”`, '"isRead":true'],
  },
  markAllNoticesRead: { noticeOf: "caller", effect: readOwnNotice },
  listApiKeys: { shows: ({ ownersKey }, caller) => (caller === "owner" ? [ownersKey.id] : []) },
  revokeCurrentApiKey: {
    effect: (fixture, actor) => ({
      removed: { api_keys: [{ user_id: actor.userId, name: "key", deleted_at: null }] },
      added: {
        api_keys: [{ user_id: actor.userId, name: "key", deleted_at: expect.any(String) }],
        ...createKeyEvents(fixture, actor, "key.deleted"),
      },
    }),
  },
  getApiKey: { shows: ({ ownersKey }) => [ownersKey.id, ownersKey.name] },
  updateApiKey: {
    body: { name: "Changed" },
    effect: (fixture, actor) => ({
      removed: { api_keys: [{ id: fixture.ownersKey.keyId, name: fixture.ownersKey.name, version: 1 }] },
      added: {
        api_keys: [{ id: fixture.ownersKey.keyId, name: "Changed", version: 2 }],
        ...createKeyEvents(fixture, actor, "key.renamed"),
      },
    }),
    shows: () => ["Changed"],
  },
  deleteApiKey: {
    effect: (fixture, actor) => ({
      removed: { api_keys: [{ id: fixture.ownersKey.keyId, deleted_at: null }] },
      added: {
        api_keys: [{ id: fixture.ownersKey.keyId, deleted_at: expect.any(String) }],
        ...createKeyEvents(fixture, actor, "key.deleted"),
      },
    }),
  },
  rotateApiKey: {
    body: { overlapSeconds: 3_600 },
    effect: (fixture, actor) => ({
      removed: { api_keys: [{ id: fixture.ownersKey.keyId, version: 1 }] },
      added: {
        api_keys: [{ id: fixture.ownersKey.keyId, version: 2 }],
        retired_secrets: [{ key_id: fixture.ownersKey.keyId }],
        ...createKeyEvents(fixture, actor, "key.rotated"),
      },
    }),
    shows: () => ['"key":"lk_'],
  },
  revokeOldApiKeySecrets: { shows: ({ ownersKey }) => [ownersKey.id, '"formerSecrets":[]'] },
  getApiKeyUsage: {
    query: "from=2026-03-01T00:00:00Z&to=2026-03-02T00:00:00Z&bucket=hour",
    shows: () => ['{"data":[]}'],
  },
  listWorkspaces: { shows: listOwnWorkspace },
  createWorkspace: {
    body: { name: "Made", description: "New" },
    effect: (_fixture, actor) => ({
      added: {
        workspaces: [{ name: "Made", description: "New" }],
        members: [{ user_id: actor.userId, role: "owner" }],
        audit_events: [{ action: "workspace.created", ...actorColumns(actor) }],
      },
    }),
    shows: () => ["Made"],
  },
  getWorkspace: { shows: ({ tenant }) => [tenant.id, tenant.name] },
  renameWorkspace: {
    body: { name: "Renamed", description: "Described" },
    effect: ({ tenant: { workspaceId, name } }, actor) => ({
      removed: { workspaces: [{ id: workspaceId, name, description: "" }] },
      added: {
        workspaces: [{ id: workspaceId, name: "Renamed", description: "Described", version: 2 }],
        audit_events: ["workspace.renamed", "workspace.description-changed"].map((action) => ({
          ...{ workspace_id: workspaceId, action },
          ...actorColumns(actor),
        })),
      },
    }),
    shows: () => ["Renamed", "Described"],
  },
  deleteWorkspace: {
    effect: ({ tenant: { workspaceId, name }, serviceAccounts }, actor) => ({
      removed: {
        workspaces: [{ id: workspaceId }],
        members: Array.from({ length: 7 }, () => ({ workspace_id: workspaceId })),
        invitations: Array.from({ length: 2 }, () => ({ workspace_id: workspaceId })),
        webhooks: [{ workspace_id: workspaceId }],
        keyspaces: [{ workspace_id: workspaceId }],
        ...listServiceAccountRows(serviceAccounts.tenant),
      },
      // The purge deletes the rest.
      added: {
        deleted_workspaces: [{ workspace_id: workspaceId }],
        deleted_webhooks: [{ workspace_id: workspaceId }],
        deleted_keyspaces: [{ workspace_id: workspaceId }],
        instance_events: [
          {
            action: "workspace.deleted",
            actor_kind: "key",
            actor_id: actor.userId,
            actor_email: actor.email,
            target_workspace_id: workspaceId,
            target_workspace_name: name,
          },
        ],
      },
    }),
  },
  listMembers: { shows: ({ people }) => [people.viewer.email, people.target.email, people.coOwner.email] },
  getMember: { user: ({ people }) => people.target, shows: ({ people }) => [people.target.email] },
  "getMember, of another workspace": { user: ({ people }) => people.foreigner },
  changeMemberRole: {
    user: ({ people }) => people.target,
    body: { role: "member" },
    effect: ({ people }, actor) => createRoleChange(people.target, { from: "viewer", to: "member" }, actor),
    shows: ({ people }) => [people.target.email, '"role":"member"'],
  },
  "changeMemberRole, to owner": {
    user: ({ people }) => people.target,
    body: { role: "owner" },
    effect: ({ people }, actor) => createRoleChange(people.target, { from: "viewer", to: "owner" }, actor),
  },
  "changeMemberRole, of an owner": {
    user: ({ people }) => people.coOwner,
    body: { role: "viewer" },
    effect: ({ people }, actor) => createRoleChange(people.coOwner, { from: "owner", to: "viewer" }, actor),
  },
  "changeMemberRole, of another workspace": {
    user: ({ people }) => people.foreigner,
    body: { role: "member" },
  },
  removeMember: {
    user: ({ people }) => people.target,
    effect: ({ people }, actor) => createRemoval(people.target, actor),
  },
  "removeMember, oneself": {
    user: ({ people }, caller) => people[caller === "nobody" ? "target" : caller],
    effect: (_fixture, actor) => createRemoval(actor, actor),
  },
  "removeMember, an owner": {
    user: ({ people }) => people.coOwner,
    effect: ({ people }, actor) => createRemoval(people.coOwner, actor),
  },
  "removeMember, of another workspace": { user: ({ people }) => people.foreigner },
  listAffectedApiKeys: {
    user: ({ people }) => people.owner,
    query: "role=member",
    shows: ({ ownersKey }) => [ownersKey.id, ownersKey.name, '"stoppedPermissions":["workspace:update"'],
    showsKeys: true,
  },
  "listAffectedApiKeys, their own": {
    user: ({ people }, caller) => (caller === "nobody" ? people.target : people[caller]),
    shows: ({ people }, caller) => [people[caller].id, '"stoppedPermissions":["workspace:read"'],
  },
  "listAffectedApiKeys, of another one": { user: ({ people }) => people.foreigner },
  listServiceAccounts: {
    shows: ({ serviceAccounts }) => [serviceAccounts.tenant.id, serviceAccounts.tenant.email],
  },
  createServiceAccount: {
    body: { name: "Backups", role: "viewer" },
    effect: ({ tenant: { workspaceId } }, actor) => ({
      added: {
        users: [{ name: "Backups", service_workspace_id: workspaceId }],
        members: [{ workspace_id: workspaceId, role: "viewer" }],
        audit_events: [
          { workspace_id: workspaceId, action: "service-account.created", ...actorColumns(actor) },
        ],
      },
    }),
    shows: () => ["Backups"],
  },
  getServiceAccount: {
    user: ({ serviceAccounts }) => serviceAccounts.tenant,
    shows: ({ serviceAccounts }) => [serviceAccounts.tenant.id],
  },
  "getServiceAccount, of another one": { user: ({ serviceAccounts }) => serviceAccounts.otherTenant },
  changeServiceAccount: {
    user: ({ serviceAccounts }) => serviceAccounts.tenant,
    body: { name: "Releases", role: "member" },
    effect: ({ serviceAccounts: { tenant } }, actor) => ({
      removed: {
        users: [{ id: tenant.userId, name: tenant.email }],
        members: [{ user_id: tenant.userId, version: 1 }],
      },
      added: {
        users: [{ id: tenant.userId, name: "Releases" }],
        members: [{ user_id: tenant.userId, version: 2 }],
        audit_events: [
          { action: "service-account.renamed", target_id: tenant.userId, ...actorColumns(actor) },
        ],
      },
    }),
    shows: () => ["Releases"],
  },
  "changeServiceAccount, of another one": {
    user: ({ serviceAccounts }) => serviceAccounts.otherTenant,
    body: { name: "Releases" },
  },
  deleteServiceAccount: {
    user: ({ serviceAccounts }) => serviceAccounts.tenant,
    effect: ({ serviceAccounts: { tenant }, serviceKey: { keyId } }, actor) => ({
      removed: {
        users: [{ id: tenant.userId, disabled_at: null }],
        members: [{ user_id: tenant.userId }],
        api_keys: [{ id: keyId, deleted_at: null }],
      },
      added: {
        users: [{ id: tenant.userId, disabled_at: expect.any(String) }],
        api_keys: [{ id: keyId, deleted_at: expect.any(String) }],
        audit_events: [
          { action: "key.deleted", target_id: keyId, ...actorColumns(actor) },
          { action: "service-account.deleted", target_id: tenant.userId, ...actorColumns(actor) },
        ],
        security_events: [{ user_id: tenant.userId, action: "key.deleted", actor_kind: "key" }],
      },
    }),
  },
  "deleteServiceAccount, of another one": { user: ({ serviceAccounts }) => serviceAccounts.otherTenant },
  "deleteServiceAccount, of a person": { user: ({ people }) => people.target },
  listServiceAccountApiKeys: {
    user: ({ serviceAccounts }) => serviceAccounts.tenant,
    shows: ({ serviceKey }) => [serviceKey.id, serviceKey.name],
    showsKeys: true,
  },
  "listServiceAccountApiKeys, foreign": { user: ({ serviceAccounts }) => serviceAccounts.otherTenant },
  createServiceAccountApiKey: {
    user: ({ serviceAccounts }) => serviceAccounts.tenant,
    body: { name: "Pipeline" },
    effect: ({ tenant: { workspaceId }, serviceAccounts: { tenant } }, actor) => ({
      added: {
        api_keys: [{ user_id: tenant.userId, name: "Pipeline" }],
        security_events: [{ user_id: tenant.userId, action: "key.created", actor_kind: "key" }],
        audit_events: [{ workspace_id: workspaceId, action: "key.created", ...actorColumns(actor) }],
      },
    }),
    shows: () => ["Pipeline", '"key":"lk_'],
  },
  "createServiceAccountApiKey, foreign": {
    user: ({ serviceAccounts }) => serviceAccounts.otherTenant,
    body: { name: "Pipeline" },
  },
  getServiceAccountApiKey: {
    user: ({ serviceAccounts }) => serviceAccounts.tenant,
    keyOf: "serviceAccount",
    shows: ({ serviceKey }) => [serviceKey.id, serviceKey.name],
    showsKeys: true,
  },
  "getServiceAccountApiKey, foreign": {
    user: ({ serviceAccounts }) => serviceAccounts.otherTenant,
    keyOf: "serviceAccount",
  },
  "getServiceAccountApiKey, a person": { user: ({ serviceAccounts }) => serviceAccounts.tenant },
  updateServiceAccountApiKey: {
    user: ({ serviceAccounts }) => serviceAccounts.tenant,
    keyOf: "serviceAccount",
    body: { name: "Changed" },
    effect: (fixture, actor) => changeServiceKey(fixture, actor, "key.renamed"),
    shows: () => ["Changed"],
    showsKeys: true,
  },
  "updateServiceAccountApiKey, foreign": {
    user: ({ serviceAccounts }) => serviceAccounts.otherTenant,
    keyOf: "serviceAccount",
    body: { name: "Changed" },
  },
  "updateServiceAccountApiKey, a person": {
    user: ({ serviceAccounts }) => serviceAccounts.tenant,
    body: { name: "Changed" },
  },
  deleteServiceAccountApiKey: {
    user: ({ serviceAccounts }) => serviceAccounts.tenant,
    keyOf: "serviceAccount",
    effect: (fixture, actor) => changeServiceKey(fixture, actor, "key.deleted"),
  },
  "deleteServiceAccountApiKey, foreign": {
    user: ({ serviceAccounts }) => serviceAccounts.otherTenant,
    keyOf: "serviceAccount",
  },
  "deleteServiceAccountApiKey, a person": { user: ({ serviceAccounts }) => serviceAccounts.tenant },
  rotateServiceAccountApiKey: {
    user: ({ serviceAccounts }) => serviceAccounts.tenant,
    keyOf: "serviceAccount",
    body: { overlapSeconds: 3_600 },
    effect: (fixture, actor) => {
      const effect = changeServiceKey(fixture, actor, "key.rotated");
      return {
        ...effect,
        added: { ...effect.added, retired_secrets: [{ key_id: fixture.serviceKey.keyId }] },
      };
    },
    shows: () => ['"key":"lk_'],
    showsKeys: true,
  },
  "rotateServiceAccountApiKey, foreign": {
    user: ({ serviceAccounts }) => serviceAccounts.otherTenant,
    keyOf: "serviceAccount",
    body: { overlapSeconds: 3_600 },
  },
  "rotateServiceAccountApiKey, a person": {
    user: ({ serviceAccounts }) => serviceAccounts.tenant,
    body: { overlapSeconds: 3_600 },
  },
  revokeOldServiceAccountApiKeySecrets: {
    user: ({ serviceAccounts }) => serviceAccounts.tenant,
    keyOf: "serviceAccount",
    shows: ({ serviceKey }) => [serviceKey.id, '"formerSecrets":[]'],
    showsKeys: true,
  },
  "revokeOldServiceAccountApiKeySecrets, foreign": {
    user: ({ serviceAccounts }) => serviceAccounts.otherTenant,
    keyOf: "serviceAccount",
  },
  "revokeOldServiceAccountApiKeySecrets, a person": {
    user: ({ serviceAccounts }) => serviceAccounts.tenant,
  },
  getOwnershipTransfer: {
    hasTransfer: true,
    shows: ({ people }) => [people.coOwner.id, people.member.id],
  },
  "getOwnershipTransfer, none": {},
  offerOwnership: {
    body: ({ people }) => ({ userId: people.target.id }),
    effect: ({ tenant: { workspaceId }, people }, actor) => ({
      added: {
        ownership_transfers: [
          { workspace_id: workspaceId, from_user_id: actor.userId, to_user_id: people.target.userId },
        ],
        audit_events: [
          { action: "ownership.offered", target_id: people.target.userId, ...actorColumns(actor) },
        ],
      },
    }),
    shows: ({ people }) => [people.owner.id, people.target.id],
  },
  "offerOwnership, to another workspace": { body: ({ people }) => ({ userId: people.foreigner.id }) },
  endOwnershipTransfer: {
    hasTransfer: true,
    effect: ({ tenant: { workspaceId }, people }, actor) => ({
      removed: { ownership_transfers: [{ workspace_id: workspaceId }] },
      added: {
        audit_events: [
          {
            action: `ownership.${actor === people.member ? "declined" : "withdrawn"}`,
            target_id: people.member.userId,
            ...actorColumns(actor),
          },
        ],
      },
    }),
  },
  acceptOwnership: {
    hasTransfer: true,
    effect: ({ tenant: { workspaceId }, people: { coOwner, member } }, actor) => ({
      removed: {
        ownership_transfers: [{ workspace_id: workspaceId }],
        members: [
          { user_id: member.userId, role: "member" },
          { user_id: coOwner.userId, role: "owner" },
        ],
      },
      added: {
        members: [
          { user_id: member.userId, role: "owner", version: 2 },
          { user_id: coOwner.userId, role: "admin", version: 2 },
        ],
        audit_events: [
          { action: "ownership.accepted", target_id: member.userId, ...actorColumns(actor) },
          { action: "member.role-changed", target_id: member.userId, ...actorColumns(actor) },
          { action: "member.role-changed", target_id: coOwner.userId, ...actorColumns(actor) },
        ],
        notices: [{ user_id: coOwner.userId, kind: "role-changed" }],
      },
    }),
    shows: ({ people }) => [people.member.id, '"role":"owner"'],
  },
  listInvitations: {
    shows: ({ invitations }, caller) => [
      invitations.byMember.email,
      ...(caller === "member" ? [] : [invitations.tenant.email]),
    ],
    hides: ({ invitations }, caller) => (caller === "member" ? [invitations.tenant.email] : []),
  },
  // The text is a part of the email addresses of both tenants.
  "listInvitations, filtered": {
    query: "search=invitee-&status=pending",
    shows: ({ invitations }, caller) => [
      invitations.byMember.email,
      ...(caller === "member" ? [] : [invitations.tenant.email]),
    ],
    hides: ({ invitations }, caller) => (caller === "member" ? [invitations.tenant.email] : []),
  },
  createInvitation: createInvitationPlan("member"),
  "createInvitation, for an admin": createInvitationPlan("admin"),
  "createInvitation, for an owner": createInvitationPlan("owner"),
  resendInvitation: createResendPlan("tenant"),
  "resendInvitation, of the member": createResendPlan("byMember"),
  "resendInvitation, of another workspace": { invitationOf: "otherTenant" },
  revokeInvitation: createRevocationPlan("tenant"),
  "revokeInvitation, of the member": createRevocationPlan("byMember"),
  "revokeInvitation, of another workspace": { invitationOf: "otherTenant" },
  listKeyspaces: { shows: ({ keyspaces }) => [keyspaces.tenant.id, keyspaces.tenant.name] },
  createKeyspace: {
    body: { name: "Staging", prefix: "sk_test" },
    effect: ({ tenant: { workspaceId } }, actor) => ({
      added: {
        keyspaces: [{ workspace_id: workspaceId, name: "Staging", prefix: "sk_test" }],
        audit_events: [{ workspace_id: workspaceId, action: "keyspace.created", ...actorColumns(actor) }],
      },
    }),
    shows: () => ["Staging"],
  },
  getKeyspace: { shows: ({ keyspaces }) => [keyspaces.tenant.id, keyspaces.tenant.name] },
  "getKeyspace, of another workspace": { keyspaceOf: "otherTenant" },
  updateKeyspace: {
    body: { name: "Staging" },
    effect: ({ tenant: { workspaceId }, keyspaces: { tenant } }, actor) => ({
      removed: { keyspaces: [{ id: tenant.keyspaceId, name: tenant.name, version: 1 }] },
      added: {
        keyspaces: [{ id: tenant.keyspaceId, name: "Staging", version: 2 }],
        audit_events: [{ workspace_id: workspaceId, action: "keyspace.changed", ...actorColumns(actor) }],
      },
    }),
    shows: () => ["Staging"],
  },
  "updateKeyspace, of another workspace": { body: { name: "Staging" }, keyspaceOf: "otherTenant" },
  deleteKeyspace: {
    effect: ({ tenant: { workspaceId }, keyspaces: { tenant } }, actor) => ({
      removed: { keyspaces: [{ id: tenant.keyspaceId }] },
      added: {
        deleted_keyspaces: [{ id: tenant.keyspaceId, workspace_id: workspaceId }],
        audit_events: [{ workspace_id: workspaceId, action: "keyspace.deleted", ...actorColumns(actor) }],
      },
    }),
  },
  "deleteKeyspace, of another workspace": { keyspaceOf: "otherTenant" },
  previewKeyspaceDeletion: { shows: () => ['"keyCount":1'] },
  "previewKeyspaceDeletion, of another": { keyspaceOf: "otherTenant" },
  getKeyspaceUsage: {
    query: usageQuery,
    shows: ({ issuedKeys }) => [`"value":"${issuedKeys.tenant.id}"`, '"count":9,"useCount":9'],
  },
  "getKeyspaceUsage, of another workspace": { keyspaceOf: "otherTenant", query: usageQuery },
  "getKeyspaceUsage, key": {
    query: ({ issuedKeys }) => `${outcomeQuery}&keyId=${issuedKeys.tenant.id}`,
    shows: () => ['"value":"VALID","name":null,"count":9,"useCount":9'],
  },
  "getKeyspaceUsage, foreign key": {
    query: ({ issuedKeys }) => `${outcomeQuery}&keyId=${issuedKeys.otherTenant.id}`,
  },
  "getKeyspaceUsage, consumer": {
    query: ({ issuedKeys }) =>
      `${outcomeQuery}&externalId=${encodeURIComponent(issuedKeys.tenant.externalId)}`,
    shows: () => ['"value":"VALID","name":null,"count":9,"useCount":9'],
  },
  "getKeyspaceUsage, foreign consumer": {
    query: ({ issuedKeys }) =>
      `${outcomeQuery}&externalId=${encodeURIComponent(issuedKeys.otherTenant.externalId)}`,
  },
  listIssuedKeys: { shows: ({ issuedKeys }) => [issuedKeys.tenant.id, issuedKeys.tenant.externalId] },
  "listIssuedKeys, of another workspace": { keyspaceOf: "otherTenant" },
  createIssuedKey: {
    body: { name: "Globex", externalId: "globex" },
    effect: ({ tenant: { workspaceId }, keyspaces: { tenant } }, actor) => ({
      removed: { issued_key_counts: [{ keyspace_id: tenant.keyspaceId, key_count: 1 }] },
      added: {
        issued_keys: [{ workspace_id: workspaceId, keyspace_id: tenant.keyspaceId, name: "Globex" }],
        consumers: [{ workspace_id: workspaceId, keyspace_id: tenant.keyspaceId, external_id: "globex" }],
        issued_key_counts: [{ keyspace_id: tenant.keyspaceId, key_count: 2 }],
        audit_events: [{ workspace_id: workspaceId, action: "issued-key.created", ...actorColumns(actor) }],
      },
    }),
    shows: () => ["Globex", '"key":"sk_live_'],
  },
  "createIssuedKey, of another workspace": { keyspaceOf: "otherTenant", body: { name: "Globex" } },
  getIssuedKey: { shows: ({ issuedKeys }) => [issuedKeys.tenant.id, issuedKeys.tenant.externalId] },
  "getIssuedKey, of another workspace": { keyspaceOf: "otherTenant", issuedKeyOf: "otherTenant" },
  "getIssuedKey, of another keyspace": { issuedKeyOf: "otherTenant" },
  updateIssuedKey: {
    body: { name: "Globex" },
    effect: (fixture, actor) => changeIssuedKey(fixture, actor, "issued-key.changed"),
    shows: () => ["Globex"],
  },
  "updateIssuedKey, of another workspace": {
    ...{ keyspaceOf: "otherTenant", issuedKeyOf: "otherTenant" },
    body: { name: "Globex" },
  },
  "updateIssuedKey, of another keyspace": { issuedKeyOf: "otherTenant", body: { name: "Globex" } },
  deleteIssuedKey: {
    effect: ({ tenant: { workspaceId }, keyspaces, issuedKeys: { tenant } }, actor) => ({
      removed: {
        issued_keys: [{ id: tenant.issuedKeyId }],
        issued_key_counts: [{ keyspace_id: keyspaces.tenant.keyspaceId, key_count: 1 }],
        consumers: [{ external_id: tenant.externalId, unused_since: null }],
        retired_issued_secrets: [{ key_id: tenant.issuedKeyId }],
      },
      added: {
        consumers: [{ external_id: tenant.externalId, unused_since: expect.any(String) }],
        issued_key_counts: [{ keyspace_id: keyspaces.tenant.keyspaceId, key_count: 0 }],
        audit_events: [{ workspace_id: workspaceId, action: "issued-key.deleted", ...actorColumns(actor) }],
      },
    }),
  },
  "deleteIssuedKey, of another workspace": { keyspaceOf: "otherTenant", issuedKeyOf: "otherTenant" },
  "deleteIssuedKey, of another keyspace": { issuedKeyOf: "otherTenant" },
  rotateIssuedKey: {
    body: { overlapSeconds: 60 },
    effect: rotateIssuedKey,
    shows: () => ['"key":"sk_live_'],
  },
  "rotateIssuedKey, of another workspace": {
    ...{ keyspaceOf: "otherTenant", issuedKeyOf: "otherTenant" },
    body: { overlapSeconds: 60 },
  },
  "rotateIssuedKey, of another keyspace": { issuedKeyOf: "otherTenant", body: { overlapSeconds: 60 } },
  revokeOldIssuedKeySecrets: { effect: revokeOldSecrets, shows: () => ['"formerSecrets":[]'] },
  "revokeOldIssuedKeySecrets, foreign": { keyspaceOf: "otherTenant", issuedKeyOf: "otherTenant" },
  "revokeOldIssuedKeySecrets, of another": { issuedKeyOf: "otherTenant" },
  changeIssuedKeyCredits: {
    body: { set: 5 },
    effect: ({ tenant: { workspaceId }, issuedKeys: { tenant } }, actor) => ({
      added: {
        audit_events: [
          {
            workspace_id: workspaceId,
            action: "issued-key.credits-changed",
            target_id: tenant.issuedKeyId,
            ...actorColumns(actor),
          },
        ],
      },
    }),
    shows: () => ['"remaining":5'],
  },
  "changeIssuedKeyCredits, foreign": {
    ...{ keyspaceOf: "otherTenant", issuedKeyOf: "otherTenant" },
    body: { set: 5 },
  },
  "changeIssuedKeyCredits, of another": { issuedKeyOf: "otherTenant", body: { set: 5 } },
  changeIssuedKeys: {
    body: ({ issuedKeys }) => ({ action: "disable", keyIds: [issuedKeys.tenant.id] }),
    effect: (fixture, actor) => changeIssuedKey(fixture, actor, "issued-key.disabled"),
    shows: ({ issuedKeys }) => [`"changed":["${issuedKeys.tenant.id}"]`],
  },
  "changeIssuedKeys, of a consumer": {
    body: ({ issuedKeys }) => ({ action: "disable", externalId: issuedKeys.tenant.externalId }),
    effect: (fixture, actor) => changeIssuedKey(fixture, actor, "issued-key.disabled"),
    shows: ({ issuedKeys }) => [`"changed":["${issuedKeys.tenant.id}"]`],
  },
  "changeIssuedKeys, of another workspace": {
    keyspaceOf: "otherTenant",
    body: ({ issuedKeys }) => ({ action: "delete", keyIds: [issuedKeys.otherTenant.id] }),
  },
  "changeIssuedKeys, of another keyspace": {
    body: ({ issuedKeys }) => ({ action: "delete", externalId: issuedKeys.otherTenant.externalId }),
    effect: () => ({}),
    shows: () => ['"changed":[],"unchanged":[]'],
  },
  rotateIssuedKeys: {
    body: ({ issuedKeys }) => ({ keyIds: [issuedKeys.tenant.id] }),
    effect: rotateIssuedKey,
    shows: ({ issuedKeys }) => [`"rotated":[{"id":"${issuedKeys.tenant.id}"`, '"key":"sk_live_'],
  },
  "rotateIssuedKeys, of a consumer": {
    body: ({ issuedKeys }) => ({ externalId: issuedKeys.tenant.externalId }),
    effect: rotateIssuedKey,
    shows: ({ issuedKeys }) => [`"rotated":[{"id":"${issuedKeys.tenant.id}"`, '"key":"sk_live_'],
  },
  "rotateIssuedKeys, of another workspace": {
    keyspaceOf: "otherTenant",
    body: ({ issuedKeys }) => ({ keyIds: [issuedKeys.otherTenant.id] }),
  },
  "rotateIssuedKeys, of another keyspace": {
    body: ({ issuedKeys }) => ({ externalId: issuedKeys.otherTenant.externalId }),
    effect: () => ({}),
    shows: () => ['"rotated":[],"notFound":[]'],
  },
  listConsumers: { shows: ({ issuedKeys }) => [issuedKeys.tenant.externalId] },
  "listConsumers, of another workspace": { keyspaceOf: "otherTenant" },
  getConsumer: { shows: ({ issuedKeys }) => [issuedKeys.tenant.externalId, '"keyCount":1'] },
  "getConsumer, of another workspace": { keyspaceOf: "otherTenant", issuedKeyOf: "otherTenant" },
  "getConsumer, of another keyspace": { issuedKeyOf: "otherTenant" },
  updateConsumer: {
    body: { limits: [{ name: "requests", quota: 5, windowSeconds: 60 }] },
    effect: changeConsumer,
    shows: ({ issuedKeys }) => [issuedKeys.tenant.externalId],
  },
  "updateConsumer, of another workspace": {
    ...{ keyspaceOf: "otherTenant", issuedKeyOf: "otherTenant" },
    body: { limits: [] },
  },
  "updateConsumer, of another keyspace": { issuedKeyOf: "otherTenant", body: { limits: [] } },
  listIssuedKeyRejections: { shows: () => ['"code":"EXPIRED"'] },
  "listIssuedKeyRejections, of another": { keyspaceOf: "otherTenant", issuedKeyOf: "otherTenant" },
  listWebhooks: { shows: ({ webhooks }) => [webhooks.tenant.url] },
  createWebhook: {
    body: { url: "https://example.com/new" },
    effect: ({ tenant: { workspaceId } }, actor) => ({
      added: {
        webhooks: [{ workspace_id: workspaceId, url: "https://example.com/new" }],
        // The webhook gets all events, including its own creation.
        webhook_deliveries: [{ workspace_id: workspaceId, action: "webhook.created" }],
        audit_events: [{ workspace_id: workspaceId, action: "webhook.created", ...actorColumns(actor) }],
      },
    }),
    shows: () => ["https://example.com/new", '"secret":"whsec_'],
  },
  getWebhook: { shows: ({ webhooks }) => [webhooks.tenant.url] },
  "getWebhook, of another workspace": { webhookOf: "otherTenant" },
  updateWebhook: {
    body: { description: "Changed" },
    effect: (fixture, actor) => changeWebhook(fixture, actor, "webhook.changed"),
    shows: () => ["Changed"],
  },
  "updateWebhook, of another workspace": { body: { description: "Changed" }, webhookOf: "otherTenant" },
  deleteWebhook: {
    effect: ({ tenant: { workspaceId }, webhooks }, actor) => ({
      removed: {
        webhooks: [{ workspace_id: workspaceId, url: webhooks.tenant.url }],
      },
      added: {
        deleted_webhooks: [{ workspace_id: workspaceId }],
        audit_events: [{ workspace_id: workspaceId, action: "webhook.deleted", ...actorColumns(actor) }],
      },
    }),
  },
  "deleteWebhook, of another workspace": { webhookOf: "otherTenant" },
  rotateWebhookSecret: {
    body: { overlapSeconds: 60 },
    effect: (fixture, actor) => changeWebhook(fixture, actor, "webhook.secret-rotated"),
    shows: () => ['"secret":"whsec_'],
  },
  "rotateWebhookSecret, of another one": { body: { overlapSeconds: 60 }, webhookOf: "otherTenant" },
  testWebhook: {
    effect: ({ tenant: { workspaceId } }) => ({
      added: { webhook_deliveries: [{ workspace_id: workspaceId, action: "webhook.test" }] },
    }),
    shows: () => ["webhook.test"],
  },
  "testWebhook, of another workspace": { webhookOf: "otherTenant" },
  listWebhookDeliveries: { shows: ({ webhooks }) => [webhooks.tenant.deliveryId] },
  "listWebhookDeliveries, of another one": { webhookOf: "otherTenant" },
  redeliverWebhookDelivery: {
    effect: ({ tenant: { workspaceId } }) => ({
      removed: { webhook_deliveries: [{ workspace_id: workspaceId }] },
      added: { webhook_deliveries: [{ workspace_id: workspaceId, status: "pending" }] },
    }),
    shows: ({ webhooks }) => [webhooks.tenant.deliveryId],
  },
  "redeliverWebhookDelivery, of another": { webhookOf: "otherTenant" },
  listWorkspaceApiKeys: { shows: ({ ownersKey }) => [ownersKey.id, ownersKey.name], showsKeys: true },
  getWorkspaceApiKey: { shows: ({ ownersKey }) => [ownersKey.id, ownersKey.name], showsKeys: true },
  blockWorkspaceApiKey: {
    effect: ({ tenant: { workspaceId }, ownersKey: { keyId } }, actor) => ({
      added: {
        workspace_key_access: [{ workspace_id: workspaceId, key_id: keyId, blocked_by: actor.userId }],
        audit_events: [
          { workspace_id: workspaceId, action: "key.blocked", target_id: keyId, ...actorColumns(actor) },
        ],
      },
    }),
  },
  // The key isn't blocked.
  unblockWorkspaceApiKey: {},
  getApiKeyPolicy: { shows: () => ['"maxIdleDays":null'] },
  updateApiKeyPolicy: {
    body: { maxIdleDays: 30 },
    effect: ({ tenant: { workspaceId } }, actor) => ({
      added: {
        api_key_policies: [{ workspace_id: workspaceId, max_idle_days: 30, version: 2 }],
        audit_events: [
          {
            ...{ workspace_id: workspaceId, action: "api-key-policy.changed" },
            ...{ before: { maxIdleDays: null }, after: { maxIdleDays: 30 } },
            ...actorColumns(actor),
          },
        ],
      },
    }),
    shows: () => ['"maxIdleDays":30'],
  },
  previewApiKeyPolicy: {
    query: "isExpiryRequired=true",
    shows: ({ ownersKey }) => [ownersKey.id, ownersKey.name],
    showsKeys: true,
  },
  listAuditEvents: { shows: ({ people }) => ["member.added", people.removed.id], showsKeys: true },
  exportAuditEvents: {
    query: "format=csv",
    shows: ({ people }) => ["occurredAt,action", "member.added", people.removed.id],
    showsKeys: true,
  },
  previewAuditRetention: { query: "days=30", shows: () => ['"count":0'] },
  verifyKey: { body: { key: "unknown" }, shows: () => ["NOT_FOUND"] },
  "verifyKey, an issued key": {
    body: ({ issuedKeys }) => ({ key: issuedKeys.tenant.secret }),
    shows: showVerification,
  },
  "verifyKey, of another workspace": {
    body: ({ issuedKeys }) => ({ key: issuedKeys.otherTenant.secret }),
    shows: ({ issuedKeys }, caller) =>
      caller === "stranger" ? ['"code":"VALID"', issuedKeys.otherTenant.id] : [notFoundResult],
  },
  verifyKeys: { body: { verifications: [{ key: "unknown" }] }, shows: () => ["NOT_FOUND"] },
  "verifyKeys, an issued key": {
    body: ({ issuedKeys }) => ({ verifications: [{ key: issuedKeys.tenant.secret }] }),
    shows: showVerification,
  },
};

const notFoundResult =
  '"valid":false,"code":"NOT_FOUND","keyId":null,"keyspaceId":null,"workspaceId":null,"externalId":null';

/** A caller who may not verify keys in the workspace can't distinguish a key from none. */
function showVerification({ issuedKeys: { tenant } }: TenantFixture, caller: Member): readonly string[] {
  return ["stranger", "removed", "viewer"].includes(caller)
    ? [notFoundResult]
    : ['"code":"VALID"', tenant.id, tenant.externalId];
}

function readOwnNotice(_fixture: TenantFixture, { userId }: Person): Effect {
  return {
    removed: { notices: [{ user_id: userId, read_at: null }] },
    added: { notices: [{ user_id: userId, read_at: expect.any(String) }] },
  };
}

/** The log events of a change to a key: one in its owner's security log, and one in the owner's workspace. */
function createKeyEvents(
  { tenant, otherTenant, people }: TenantFixture,
  actor: Person,
  action: string,
): NonNullable<Effect["added"]> {
  const isOtherTenant = actor === people.stranger || actor === people.foreigner;
  const workspaceId = (isOtherTenant ? otherTenant : tenant).workspaceId;
  return {
    security_events: [{ user_id: actor.userId, action, actor_kind: "key" }],
    ...(actor === people.removed
      ? {}
      : {
          audit_events: [{ workspace_id: workspaceId, action, target_kind: "key", ...actorColumns(actor) }],
        }),
  };
}

/** The rows of a change to the key of our service account. */
function changeServiceKey(
  { tenant: { workspaceId }, serviceAccounts, serviceKey: { keyId } }: TenantFixture,
  actor: Person,
  action: string,
): Effect {
  const { userId } = serviceAccounts.tenant;
  return {
    removed: { api_keys: [{ id: keyId }] },
    added: {
      api_keys: [{ id: keyId }],
      security_events: [{ user_id: userId, action, actor_kind: "key" }],
      audit_events: [{ workspace_id: workspaceId, action, target_id: keyId, ...actorColumns(actor) }],
    },
  };
}

/** The rows of a service account and its key, which are deleted with the workspace. */
function listServiceAccountRows({ userId }: Person): NonNullable<Effect["removed"]> {
  const rows = [{ user_id: userId }];
  return { users: [{ id: userId }], api_keys: rows, security_events: rows };
}

function createResendPlan(invitationOf: "tenant" | "byMember"): Plan {
  return {
    invitationOf,
    effect: ({ tenant: { workspaceId }, invitations, people }, actor) => {
      const { email } = invitations[invitationOf];
      const inviter = invitationOf === "tenant" ? null : people.member.userId;
      return {
        removed: { invitations: [{ email, invited_by: inviter }], verifications: [{}] },
        added: {
          invitations: [{ email, invited_by: actor.userId }],
          verifications: [{}],
          audit_events: [{ workspace_id: workspaceId, action: "invitation.resent", ...actorColumns(actor) }],
        },
      };
    },
    shows: () => ["/invitation#"],
  };
}

function createRevocationPlan(invitationOf: "tenant" | "byMember"): Plan {
  return {
    invitationOf,
    effect: ({ tenant: { workspaceId }, invitations }, actor) => ({
      removed: { invitations: [{ email: invitations[invitationOf].email }], verifications: [{}] },
      added: {
        audit_events: [{ workspace_id: workspaceId, action: "invitation.revoked", ...actorColumns(actor) }],
      },
    }),
  };
}

function createInvitationPlan(role: string): Plan {
  const email = "new@example.com";
  return {
    body: { email, role },
    effect: ({ tenant: { workspaceId } }, actor) => ({
      added: {
        invitations: [{ workspace_id: workspaceId, email, role, invited_by: actor.userId }],
        verifications: [{}],
        audit_events: [{ workspace_id: workspaceId, action: "invitation.created", ...actorColumns(actor) }],
      },
    }),
    shows: () => [email, "/invitation#"],
  };
}

function changeIssuedKey(
  { tenant: { workspaceId }, issuedKeys }: TenantFixture,
  actor: Person,
  action: string,
): Effect {
  const { issuedKeyId } = issuedKeys.tenant;
  return {
    removed: { issued_keys: [{ id: issuedKeyId, version: 1 }] },
    added: {
      issued_keys: [{ id: issuedKeyId, version: 2 }],
      audit_events: [{ workspace_id: workspaceId, action, target_id: issuedKeyId, ...actorColumns(actor) }],
    },
  };
}

function rotateIssuedKey(fixture: TenantFixture, actor: Person): Effect {
  const effect = changeIssuedKey(fixture, actor, "issued-key.rotated");
  const { issuedKeyId } = fixture.issuedKeys.tenant;
  return { ...effect, added: { ...effect.added, retired_issued_secrets: [{ key_id: issuedKeyId }] } };
}

function revokeOldSecrets(fixture: TenantFixture, actor: Person): Effect {
  const effect = changeIssuedKey(fixture, actor, "issued-key.former-secrets-revoked");
  const secret = { key_id: fixture.issuedKeys.tenant.issuedKeyId };
  return {
    removed: { ...effect.removed, retired_issued_secrets: [secret] },
    added: { ...effect.added, retired_issued_secrets: [{ ...secret, good_until: "-infinity" }] },
  };
}

function changeConsumer(
  { tenant: { workspaceId }, issuedKeys: { tenant } }: TenantFixture,
  actor: Person,
): Effect {
  const row = { external_id: tenant.externalId };
  return {
    removed: { consumers: [{ ...row, version: 1 }] },
    added: {
      consumers: [{ ...row, version: 2 }],
      audit_events: [{ workspace_id: workspaceId, action: "consumer.changed", ...actorColumns(actor) }],
    },
  };
}

function changeWebhook(
  { tenant: { workspaceId }, webhooks }: TenantFixture,
  actor: Person,
  action: string,
): Effect {
  const row = { workspace_id: workspaceId, url: webhooks.tenant.url };
  return {
    removed: { webhooks: [{ ...row, version: 1 }] },
    added: {
      webhooks: [{ ...row, version: 2 }],
      audit_events: [{ workspace_id: workspaceId, action, ...actorColumns(actor) }],
    },
  };
}

function listOwnWorkspace({ tenant, otherTenant }: TenantFixture, caller: Member): readonly string[] {
  if (caller === "removed") return [];
  return caller === "stranger" ? [otherTenant.id, otherTenant.name] : [tenant.id, tenant.name];
}

function actorColumns({ userId }: Person): object {
  return { actor_kind: "key", actor_user_id: userId };
}

function createRoleChange(
  { userId }: Person,
  { from, to }: { readonly from: string; readonly to: string },
  actor: Person,
): Effect {
  const event = {
    action: "member.role-changed",
    target_id: userId,
    before: { role: from },
    after: { role: to },
  };
  return {
    removed: { members: [{ user_id: userId, role: from, version: 1 }] },
    added: {
      members: [{ user_id: userId, role: to, version: 2 }],
      audit_events: [{ ...event, ...actorColumns(actor) }],
      ...(userId !== actor.userId && { notices: [{ user_id: userId, kind: "role-changed" }] }),
    },
  };
}

function createRemoval({ userId }: Person, actor: Person): Effect {
  return {
    removed: { members: [{ user_id: userId }] },
    added: { audit_events: [{ action: "member.removed", target_id: userId, ...actorColumns(actor) }] },
  };
}

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

test("the table and the plans cover every endpoint, and nothing else", () => {
  const operations = endpoints.map(({ operationId }) => operationId);
  expect(new Set(table.map(({ target }) => target))).toEqual(new Set(operations));
  expect(Object.keys(plans)).toEqual(table.map(({ name }) => name));
});

function getEndpoint(operationId: string): Endpoint {
  const endpoint = endpoints.find((candidate) => candidate.operationId === operationId);
  if (!endpoint) throw new Error(`There is no endpoint ${operationId}.`);
  return endpoint;
}

/** Fills in the path parameters. @throws {Error} if a parameter has no value. */
function fillPath({ path }: Endpoint, parameters: Readonly<Record<string, string | undefined>>): string {
  const filled = path.replace(/:(\w+)/g, (_match, name: string) => {
    const value = parameters[name];
    if (value === undefined) throw new Error(`The plan has nothing for :${name} in ${path}.`);
    return value;
  });
  return `/open${filled}`;
}

async function call(
  { method }: Endpoint,
  path: string,
  { secret, body }: { readonly secret: string | undefined; readonly body?: object | undefined },
) {
  const response = await fetch(app.baseUrl + path, {
    method,
    headers: { "Content-Type": "application/json", ...(secret ? { Authorization: `Bearer ${secret}` } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return { status: response.status, text: await response.text() };
}

/** The ID in the paths of a plan without notices. No notice has it. */
const unknownNoticeId = "ntc_01h455vb4pex5vsknk084sn02q";

async function addNotices(
  { people: { target } }: TenantFixture,
  { noticeOf, actor }: { readonly noticeOf: Plan["noticeOf"]; readonly actor: Person | undefined },
): Promise<string> {
  if (!noticeOf) return unknownNoticeId;
  const ids = { target: await addNotice(app, target), caller: actor && (await addNotice(app, actor)) };
  return ids[noticeOf] ?? ids.target;
}

/** The parameters of a path to a webhook or a delivery, or to a keyspace or an issued key. */
function resourcePath(
  { webhooks, keyspaces, issuedKeys }: TenantFixture,
  {
    webhookOf = "tenant",
    keyspaceOf = "tenant",
    issuedKeyOf = "tenant",
  }: Pick<Plan, "webhookOf" | "keyspaceOf" | "issuedKeyOf"> = {},
) {
  const { id: webhookId, deliveryId } = webhooks[webhookOf];
  const { id: issuedKeyId, externalId } = issuedKeys[issuedKeyOf];
  const keyspaceId = keyspaces[keyspaceOf].id;
  return { webhookId, deliveryId, keyspaceId, issuedKeyId, externalId: encodeURIComponent(externalId) };
}

const codes: Readonly<Record<string, string>> = { 401: "UNAUTHORIZED", 403: "FORBIDDEN", 404: "NOT_FOUND" };

describe.each(table)("$name", ({ target, name, results }) => {
  test.each(callers)("called by %s", async (caller) => {
    const fixture = await prepareFixture(app);
    const plan = plans[name] ?? {};
    const endpoint = getEndpoint(target);
    const actor = caller === "nobody" ? undefined : fixture.people[caller];
    const secret = actor && (await app.addKey(actor.userId)).secret;
    const noticeId = await addNotices(fixture, { noticeOf: plan.noticeOf, actor });
    const path = fillPath(endpoint, {
      workspaceId: fixture.tenant.id,
      noticeId,
      userId: plan.user?.(fixture, caller).id,
      keyId: (plan.keyOf === "serviceAccount" ? fixture.serviceKey : fixture.ownersKey).id,
      invitationId: fixture.invitations[plan.invitationOf ?? "tenant"].id,
      ...resourcePath(fixture, plan),
    });

    if (plan.hasTransfer) await addOwnershipTransfer(app, fixture);
    const body = bodyOf(plan, fixture);
    const { result, before, after } = await observe(app.owner, () =>
      call(endpoint, `${path}?${queryOf(plan, fixture)}`, { secret, body }),
    );

    expect(String(result.status)).toBe(results[caller]);
    const isAllowed = result.status < 300;
    expectEffect({ before, after }, (isAllowed && actor && plan.effect?.(fixture, actor)) || {});
    if (!isAllowed) expect(JSON.parse(result.text).error.code).toBe(codes[result.status]);
    if (isAllowed && caller !== "nobody" && plan.shows) {
      for (const shown of plan.shows(fixture, caller)) expect(result.text).toContain(shown);
    }
    const hiddenText = [...listHiddenText(caller, fixture, plan), ...(plan.hides?.(fixture, caller) ?? [])];
    for (const hidden of hiddenText) expect(result.text).not.toContain(hidden);
  });
});

function bodyOf({ body }: Plan, fixture: TenantFixture): object | undefined {
  return typeof body === "function" ? body(fixture) : body;
}

test("a viewer changes nothing in a workspace, and a member only what they created", () => {
  // The tests above make these calls and compare all rows.
  const changes = table.filter(({ target }) => {
    const { method, access } = getEndpoint(target);
    return method !== "GET" && typeof access === "object";
  });
  const listAllowed = (caller: Caller) =>
    changes.flatMap(({ name, results }) => (Number(results[caller]) < 300 ? [name] : []));
  expect(listAllowed("viewer")).toEqual(["removeMember, oneself"]);
  expect(listAllowed("member")).toEqual([
    "removeMember, oneself",
    // Ownership is offered to the member.
    "endOwnershipTransfer",
    "acceptOwnership",
    "createInvitation",
    "resendInvitation, of the member",
    "revokeInvitation, of the member",
  ]);
});

/** Returns the whole response without its date and request ID. */
function removeVariableParts({ head, body }: { readonly head: string; readonly body: string }): string {
  const lines = head.split("\r\n").filter((line) => !/^(date|x-request-id):/i.test(line));
  return [...lines, "", body.replace(/"requestId":"[^"]+"/, '"requestId":""')].join("\r\n");
}

const workspaceEndpoints = endpoints.filter(({ access }) => typeof access === "object");

test.each(workspaceEndpoints)(
  "$operationId rejects a foreign workspace, an unknown or invalid ID, and an insufficient role identically",
  async (endpoint) => {
    const fixture = await prepareFixture(app);
    const { tenant, otherTenant, people, invitations, ownersKey } = fixture;
    const sendAs = async (workspaceId: string, person: Person): Promise<string> => {
      const { secret } = await app.addKey(person.userId);
      const path = fillPath(endpoint, {
        workspaceId,
        userId: people.target.id,
        invitationId: invitations.tenant.id,
        ...resourcePath(fixture),
        keyId: ownersKey.id,
      });
      // The invalid body must not change the response: permissions are checked before the body is parsed.
      const lines = [
        `${endpoint.method} ${path} HTTP/1.1`,
        "Host: x",
        `Authorization: Bearer ${secret}`,
        "Content-Type: application/json",
        "Content-Length: 1",
        "Connection: close",
      ];
      return removeVariableParts(await sendRaw(app.baseUrl, `${lines.join("\r\n")}\r\n\r\n{`));
    };
    const foreign = await sendAs(otherTenant.id, people.owner);
    expect(foreign).toMatch(/^HTTP\/1\.1 403 /);
    for (const workspaceId of [
      "ws_01h455vb4pex5vsknk084sn02q",
      "nonsense",
      people.owner.id,
      otherTenant.workspaceId,
      otherTenant.id.toUpperCase(),
      "%00",
      "%ff",
      "ws_",
      "*",
    ]) {
      expect(await sendAs(workspaceId, people.owner), workspaceId).toBe(foreign);
    }
    expect(await sendAs(tenant.id, people.stranger)).toBe(foreign);
    expect(await sendAs(tenant.id, people.removed)).toBe(foreign);
    // If the handler checks the role, the body has already been parsed.
    const { access } = endpoint;
    if (typeof access === "object" && !roleHasPermission("viewer", access.workspace)) {
      expect(await sendAs(tenant.id, people.viewer)).toBe(foreign);
    }
  },
);

const endpointsWithBody = endpoints.filter(({ request }) => request.body);

test.each(endpointsWithBody)("$operationId rejects unknown fields and changes nothing", async (endpoint) => {
  const fixture = await prepareFixture(app);
  const { tenant, otherTenant, people } = fixture;
  const plan = plans[endpoint.operationId] ?? {};
  const { secret } = await app.addKey(people.owner.userId);
  const userId = plan.user?.(fixture, "owner").id;
  const path = fillPath(endpoint, {
    workspaceId: tenant.id,
    noticeId: unknownNoticeId,
    userId,
    keyId: fixture.ownersKey.id,
    ...resourcePath(fixture),
  });
  const planned = bodyOf(plan, fixture);
  const unknown = {
    ...(planned && "userId" in planned ? {} : { userId: people.stranger.id }),
    ...(endpoint.request.body && "workspaceId" in endpoint.request.body.shape
      ? {}
      : { workspaceId: otherTenant.id }),
    ...(planned && "role" in planned ? {} : { role: "owner" }),
    keyHash: "0",
    id: otherTenant.id,
    version: 7,
    toString: "x",
    constructor: { prototype: {} },
  };
  for (const [name, value] of Object.entries(unknown)) {
    const body = { ...planned, [name]: value };
    const { result, before, after } = await observe(app.owner, () => call(endpoint, path, { secret, body }));
    expect([result.status, JSON.parse(result.text).error.issues]).toEqual([
      400,
      [{ path: name, code: "unknown_member", message: "Unknown field" }],
    ]);
    expectEffect({ before, after }, {});
  }
});

test.each(endpoints)("$operationId rejects unknown parameters", async (endpoint) => {
  const fixture = await prepareFixture(app);
  const plan = plans[endpoint.operationId] ?? {};
  const { secret } = await app.addKey(fixture.people.owner.userId);
  const userId = plan.user?.(fixture, "owner").id;
  const path = fillPath(endpoint, {
    workspaceId: fixture.tenant.id,
    noticeId: unknownNoticeId,
    userId,
    keyId: fixture.ownersKey.id,
    invitationId: fixture.invitations.tenant.id,
    ...resourcePath(fixture),
  });
  for (const name of ["userId", "workspaceId", "keyHash", "__proto__", "api_key"]) {
    const query = `${path}?${queryOf(plan, fixture)}&${name}=${fixture.otherTenant.id}`;
    const { result, before, after } = await observe(app.owner, () =>
      call(endpoint, query, { secret, body: bodyOf(plan, fixture) }),
    );
    expect([result.status, JSON.parse(result.text).error.issues]).toEqual([
      400,
      [{ path: name, code: "unknown_member", message: "Unknown field" }],
    ]);
    expectEffect({ before, after }, {});
  }
});
