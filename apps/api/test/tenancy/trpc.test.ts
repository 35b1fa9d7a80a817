// Calls every procedure of the web app as every caller, and checks the result and the changed rows.
import { createId, encodeId } from "@latchkey/db/ids";
import { type ErrorCode, errorCatalog } from "@latchkey/errors";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requireRecentAuthentication } from "../../src/domain/require-recent-authentication.ts";
import { router } from "../../src/procedures/router.ts";
import { password, sendRaw, startTestApp, type TestApp } from "../test-app.ts";
import { addOwnershipTransfer, listHiddenText, prepareFixture, type TenantFixture } from "./fixture.ts";
import { type Person, timeOfUse } from "./fixture-rows.ts";
import {
  alwaysRequired,
  type Case,
  neverRequired,
  requiredElsewhere,
  sometimesRequired,
} from "./recent-authentication.ts";
import { type Effect, expectEffect, observe } from "./rows.ts";
import { type Caller, callers, readTable } from "./table.ts";

const table = readTable(`
                                          nobody        stranger   removed    viewer     member     admin      owner
  instance.get                            ok            ok         ok         ok         ok         ok         ok
  instance.hasNoAccounts                  ok            ok         ok         ok         ok         ok         ok
  instance.isFresh                        ok            ok         ok         ok         ok         ok         ok
  instance.permissions                    ok            ok         ok         ok         ok         ok         ok
  instance.roles                          ok            ok         ok         ok         ok         ok         ok
  session.current                         ok            ok         ok         ok         ok         ok         ok
  session.signUp                          ok            ok         ok         ok         ok         ok         ok
  session.signIn                          ok            ok         ok         ok         ok         ok         ok
  session.enterCode                       UNAUTHORIZED  UNAUTHORIZED  UNAUTHORIZED  UNAUTHORIZED  UNAUTHORIZED  UNAUTHORIZED  UNAUTHORIZED
  session.startOpenid                     NOT_FOUND     NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  session.signInWithOpenid                NOT_FOUND     NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  session.startPasskey                    ok            ok         ok         ok         ok         ok         ok
  session.signInWithPasskey               UNAUTHORIZED  UNAUTHORIZED  UNAUTHORIZED  UNAUTHORIZED  UNAUTHORIZED  UNAUTHORIZED  UNAUTHORIZED
  session.requestResetLink                CONFLICT      CONFLICT   CONFLICT   CONFLICT   CONFLICT   CONFLICT   CONFLICT
  session.resetAccount                    NOT_FOUND     NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  session.resetPassword                   NOT_FOUND     NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  session.signUpInvited                   NOT_FOUND     NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  session.emailChange                     UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  session.confirmEmailChange              UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  session.signOut                         ok            ok         ok         ok         ok         ok         ok
  account.rename                          UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  account.requestEmailChange              UNAUTHORIZED  CONFLICT   CONFLICT   CONFLICT   CONFLICT   CONFLICT   CONFLICT
  account.emailStatus                     UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  account.requestEmailVerification        UNAUTHORIZED  CONFLICT   CONFLICT   CONFLICT   CONFLICT   CONFLICT   CONFLICT
  account.verifyEmail                     UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  account.changePassword                  UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  account.confirmPassword                 UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  account.deletion                        UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  account.delete                          UNAUTHORIZED  CONFLICT   ok         ok         ok         ok         ok
  account.startPasskey                    UNAUTHORIZED  CONFLICT   CONFLICT   CONFLICT   CONFLICT   CONFLICT   CONFLICT
  account.confirmPasskey                  UNAUTHORIZED  BAD_REQUEST  BAD_REQUEST  BAD_REQUEST  BAD_REQUEST  BAD_REQUEST  BAD_REQUEST
  account.signInMethods                   UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  account.setPassword                     UNAUTHORIZED  CONFLICT   CONFLICT   CONFLICT   CONFLICT   CONFLICT   CONFLICT
  account.startOpenid                     UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  account.linkOpenid                      UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  account.unlinkOpenid                    UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  account.confirmOpenid                   UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  account.sessions                        UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  account.endSession                      UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  account.endOtherSessions                UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  account.signOutEverywhere               UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  factors.get                             UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  factors.createTotp                      UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  factors.enableTotp                      UNAUTHORIZED  CONFLICT   CONFLICT   CONFLICT   CONFLICT   CONFLICT   CONFLICT
  factors.disableTotp                     UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  factors.createRecoveryCodes             UNAUTHORIZED  CONFLICT   CONFLICT   CONFLICT   CONFLICT   CONFLICT   CONFLICT
  factors.startPasskey                    UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  factors.addPasskey                      UNAUTHORIZED  BAD_REQUEST  BAD_REQUEST  BAD_REQUEST  BAD_REQUEST  BAD_REQUEST  BAD_REQUEST
  factors.renamePasskey                   UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  factors.removePasskey                   UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  apiKeys.list                            UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  apiKeys.summary                         UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  apiKeys.get                             UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  apiKeys.get, a service                  UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok         ok
  apiKeys.rejectingWorkspaces             UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  apiKeys.checkPolicies                   UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  apiKeys.create                          UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  apiKeys.update                          UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  apiKeys.update, a service               UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok         ok
  apiKeys.rotate                          UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  apiKeys.rotate, a service               UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok         ok
  apiKeys.revokeOldSecrets                UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  apiKeys.revokeOldSecrets, a service     UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok         ok
  apiKeys.endOverlap                      UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  apiKeys.endOverlap, a service           UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok         ok
  apiKeys.delete                          UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  apiKeys.delete, a service               UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok         ok
  keyHistory.usage                        UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  keyHistory.usage, a service             UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok         ok
  keyHistory.usageInBuckets               UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  keyHistory.usageInBuckets, a service    UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok         ok
  keyHistory.refusals                     UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  keyHistory.refusals, a service          UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok         ok
  keyHistory.addresses                    UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  keyHistory.addresses, a service         UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok         ok
  keyHistory.explainRequest               UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  keyHistory.tryOut                       UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  keyHistory.evaluate                     UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok
  keyHistory.evaluate, a service          UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  ok         ok
  workspaces.get                          UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  workspaces.create                       UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  workspaces.update                       UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  workspaces.rename                       UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  workspaces.delete                       UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok
  members.list                            UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  members.withoutSecondFactor             UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  members.changeRole                      UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  members.changeRole, to owner            UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok
  members.changeRole, of an owner         UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok
  members.changeRole, of a foreigner      UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  members.leave                           UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  members.remove                          UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  members.remove, oneself                 UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  members.remove, an owner                UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok
  members.remove, a foreigner             UNAUTHORIZED  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  serviceAccounts.get                     UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  serviceAccounts.get, a foreign one      UNAUTHORIZED  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  serviceAccounts.create                  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  serviceAccounts.change                  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  serviceAccounts.change, a foreign one   UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  serviceAccounts.keys                    UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  serviceAccounts.keys, of a person       UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  serviceAccounts.createKey               UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  serviceAccounts.createKey, of a person  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  serviceAccounts.createKey, a foreigner  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  serviceAccounts.delete                  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  serviceAccounts.delete, a foreign one   UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  offboarding.preview                     UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  offboarding.preview, a foreigner        UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  offboarding.previewOwn                  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  offboarding.replaceKeys                 UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  offboarding.replaceKeys, of another     UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  ownership.get                           UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  ownership.offer                         UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok
  ownership.offer, to a foreigner         UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND
  ownership.accept                        UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         FORBIDDEN  FORBIDDEN
  ownership.end                           UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         FORBIDDEN  ok
  invitations.list                        UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok         ok
  invitations.list, filtered              UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok         ok
  invitations.create                      UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok         ok
  invitations.create, an admin            UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  invitations.create, an owner            UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok
  invitations.resend                      UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  ok         ok
  invitations.resend, of the member       UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok         ok
  invitations.resend, a foreign one       UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND  NOT_FOUND
  invitations.revoke                      UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  ok         ok
  invitations.revoke, of the member       UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok         ok
  invitations.revoke, a foreign one       UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND  NOT_FOUND
  invitations.preview                     NOT_FOUND     NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  invitations.accept                      UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  audit.actors                            UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  audit.list                              UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  audit.previewRetention                  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok
  overview.usage                          UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  overview.keys                           UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  overview.verifications                  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  keyspaceUsage.usage                     UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  keyspaceUsage.usage, a foreign one      UNAUTHORIZED  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  keyspaceUsage.busiest                   UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  keyspaceUsage.busiest, a foreign one    UNAUTHORIZED  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  keyspaceUsage.keyspaceUses              UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  keyspaceUsage.keyUsage                  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  keyspaceUsage.keyUsage, a foreign one   UNAUTHORIZED  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  keyspaceUsage.consumerUsage             UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  keyspaceUsage.consumerUsage, a foreign one  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  keyspaceUsage.latestOutcome             UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  keyspaceUsage.latestOutcome, a foreign one  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  keyspaceUsage.rejections                UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  keyspaceUsage.rejections, a foreign one  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  keyspaceUsage.recent                    UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  keyspaceUsage.recent, a foreign one     UNAUTHORIZED  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  keyspaceUsage.recent, of foreign keys   UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  workspaceKeys.list                      UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  workspaceKeys.block                     UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  workspaceKeys.unblock                   UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  workspaceKeys.policy                    UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  workspaceKeys.previewPolicy             UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  workspaceKeys.changePolicy              UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  securityLog.list                        UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  notices.list                            UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  notices.unreadCount                     UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  notices.markRead                        UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  notices.markAllRead                     UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  notices.settings                        UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  notices.changeSetting                   UNAUTHORIZED  ok         ok         ok         ok         ok         ok
  issuedKeyImport.importRows              UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  issuedKeyImport.importRows, into a foreign one  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  consumers.list                          UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  consumers.list, of a foreign keyspace   UNAUTHORIZED  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  consumers.get                           UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  consumers.get, a foreign one            UNAUTHORIZED  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  consumers.update                        UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  consumers.update, a foreign one         UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  issuedKeyBulk.change                    UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  issuedKeyBulk.change, a foreign one     UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  issuedKeyBulk.rotate                    UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  issuedKeyBulk.rotate, a foreign one     UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  issuedKeyCredits.change                 UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  issuedKeyCredits.change, a foreign one  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  webhooks.list                           UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  webhooks.get                            UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  webhooks.get, a foreign one             UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  webhooks.create                         UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  webhooks.update                         UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  webhooks.update, a foreign one          UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  webhooks.delete                         UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  webhooks.delete, a foreign one          UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  webhooks.rotateSecret                   UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  webhooks.rotateSecret, a foreign one    UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  webhooks.test                           UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  webhooks.test, a foreign one            UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  webhooks.deliveries                     UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  webhooks.deliveries, of a foreign one   UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  webhooks.redeliver                      UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  webhooks.redeliver, a foreign one       UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  keyspaces.list                          UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  keyspaces.get                           UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  keyspaces.get, a foreign one            UNAUTHORIZED  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  keyspaces.create                        UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  keyspaces.update                        UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  keyspaces.update, a foreign one         UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  keyspaces.impact                        UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  keyspaces.impact, a foreign one         UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  keyspaces.previewDeletion               UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  keyspaces.previewDeletion, a foreign one  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  keyspaces.delete                        UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  keyspaces.delete, a foreign one         UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  issuedKeys.list                         UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  issuedKeys.list, of a foreign one       UNAUTHORIZED  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  issuedKeys.get                          UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  issuedKeys.get, a foreign one           UNAUTHORIZED  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  issuedKeys.get, of another keyspace     UNAUTHORIZED  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  issuedKeys.changes                      UNAUTHORIZED  FORBIDDEN  FORBIDDEN  ok         ok         ok         ok
  issuedKeys.changes, a foreign one       UNAUTHORIZED  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  issuedKeys.changes, of another keyspace  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  issuedKeys.create                       UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  issuedKeys.create, in a foreign one     UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  issuedKeys.update                       UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  issuedKeys.update, a foreign one        UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  issuedKeys.update, of another keyspace  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  issuedKeys.rotate                       UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  issuedKeys.rotate, a foreign one        UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  issuedKeys.rotate, of another keyspace  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  issuedKeys.revokeOldSecrets             UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  issuedKeys.revokeOldSecrets, a foreign one  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  issuedKeys.revokeOldSecrets, of another keyspace  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  issuedKeys.delete                       UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok
  issuedKeys.delete, a foreign one        UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  issuedKeys.delete, of another keyspace  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  FORBIDDEN  NOT_FOUND  NOT_FOUND
  issuedKeys.verify                       UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok         ok
  issuedKeys.verify, a foreign one        UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok         ok
  issuedKeys.verify, of another keyspace  UNAUTHORIZED  FORBIDDEN  FORBIDDEN  FORBIDDEN  ok         ok         ok
  operator.users                          UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  operator.workspaces                     UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  operator.workspaceReach                 UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  operator.disableWorkspace               UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  operator.enableWorkspace                UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  operator.disableUser                    UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  operator.enableUser                     UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  operator.endSessions                    UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  operator.createResetLink                UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  operator.grantRole                      UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  operator.revokeRole                     UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  operator.instance                       UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
  operator.log                            UNAUTHORIZED  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND  NOT_FOUND
`);

type Actor = Person | undefined;

const importedRows = [{ line: 1, content: { hash: "ab".repeat(32), name: "Globex", externalId: "globex" } }];

/** What a call sends and, if it is allowed, which rows it changes and what its response contains. */
interface Plan {
  readonly input?: (fixture: TenantFixture, actor: Actor) => object;
  /** Whether the co-owner has offered ownership to the member. */
  readonly hasTransfer?: boolean;
  readonly effect?: (fixture: TenantFixture, actor: Actor) => Effect;
  readonly shows?: (fixture: TenantFixture, caller: Caller) => readonly string[];
  /** What the response doesn't contain, in addition to what no response to the caller contains. */
  readonly hides?: (fixture: TenantFixture, caller: Caller) => readonly string[];
  /** Whether the response shows admins the keys that can reach their workspace. */
  readonly showsKeys?: boolean;
}

const operatorPlan: Plan = { input: ({ people }) => ({ userId: people.target.id }) };
const operatedWorkspacePlan: Plan = {
  input: ({ tenant }) => ({ id: encodeId("workspace", tenant.workspaceId) }),
};
/** A browser’s response with an unknown passkey. */
const unknownPasskey = {
  id: "AAAA",
  rawId: "AAAA",
  type: "public-key",
  response: { clientDataJSON: "AAAA", authenticatorData: "AAAA", signature: "AAAA" },
};

const plans: Readonly<Record<string, Plan>> = {
  "instance.get": { shows: () => ["registration"] },
  "instance.hasNoAccounts": { shows: () => ['{"data":false}'] },
  "instance.isFresh": { shows: () => ['{"data":false}'] },
  "instance.permissions": { shows: () => ["members:manage"] },
  "instance.roles": {
    shows: () => ['{"name":"viewer","description":"Can view the workspace, but not change it."}'],
  },
  "session.current": { shows: listOwnData },
  "session.signUp": {
    input: ({ people }) => ({ name: "New", email: `${people.owner.userId}@example.com`, password }),
    effect: ({ people }, actor) => ({
      removed: listOwnSession(actor),
      added: {
        users: [{ email: `${people.owner.userId}@example.com` }],
        accounts: [{ provider_id: "credential" }],
        workspaces: [{ name: "New’s workspace" }],
        members: [{ role: "owner" }],
        audit_events: [{ action: "workspace.created" }],
        sessions: [{}],
        security_events: [{ action: "sign-in.succeeded" }],
        known_devices: [{}],
        sign_in_origins: [{}, {}],
      },
    }),
  },
  "session.signIn": {
    input: ({ people }, actor) => ({ email: (actor ?? people.removed).email, password }),
    effect: ({ people }, actor) => {
      const { userId } = actor ?? people.removed;
      return {
        removed: listOwnSession(actor),
        added: {
          sessions: [{ user_id: userId }],
          security_events: [{ user_id: userId, action: "sign-in.succeeded" }],
          known_devices: [{ user_id: userId }],
          sign_in_origins: [{ user_id: userId }, { user_id: userId }],
        },
      };
    },
  },
  // No sign-in is pending.
  "session.enterCode": { input: () => ({ code: "123456" }) },
  // The instance has no OpenID provider.
  "session.startOpenid": {},
  "session.signInWithOpenid": { input: () => ({ code: "code", state: "state" }) },
  "session.startPasskey": {
    input: () => ({ isSecondFactor: false }),
    effect: () => ({ added: { verifications: [{ value: "sign-in" }] } }),
    shows: () => ['"rpId":"localhost"'],
  },
  // Nobody has a passkey.
  "session.signInWithPasskey": { input: () => ({ response: unknownPasskey }) },
  // The instance sends no email.
  "session.requestResetLink": { input: () => ({ email: "new@example.com" }) },
  "session.resetAccount": { input: () => ({ token: "unknown" }) },
  "session.resetPassword": {
    input: () => ({ token: "unknown", newPassword: "seven bridges over the river" }),
  },
  "session.signUpInvited": { input: () => ({ token: "unknown", name: "New", password }) },
  "session.emailChange": { input: () => ({ token: "unknown" }) },
  "session.confirmEmailChange": { input: () => ({ token: "unknown" }) },
  "session.signOut": {
    effect: (_fixture, actor) => ({
      removed: listOwnSession(actor),
      ...(actor && {
        added: { security_events: [{ user_id: actor.userId, action: "session.signed-out" }] },
      }),
    }),
  },
  "account.rename": {
    input: () => ({ name: "Renamed" }),
    effect: (_fixture, actor) => ({
      removed: { users: [{ id: actor?.userId, name: actor?.email }] },
      added: {
        users: [{ id: actor?.userId, name: "Renamed" }],
        security_events: [{ user_id: actor?.userId, action: "account.renamed" }],
      },
    }),
  },
  // The instance sends no email.
  "account.requestEmailChange": { input: () => ({ email: "new@example.com" }) },
  "account.emailStatus": { shows: () => ['"isVerified":false'] },
  "account.requestEmailVerification": {},
  "account.verifyEmail": { input: () => ({ token: "unknown" }) },
  "account.changePassword": {
    input: () => ({ currentPassword: password, newPassword: "seven bridges over the river" }),
    effect: (_fixture, actor) => ({
      removed: { accounts: [{ user_id: actor?.userId }] },
      added: {
        accounts: [{ user_id: actor?.userId }],
        security_events: [{ user_id: actor?.userId, action: "password.changed" }],
      },
    }),
  },
  "account.confirmPassword": {
    input: () => ({ password }),
    effect: (_fixture, actor) => ({
      removed: listOwnSession(actor),
      added: { sessions: [{ user_id: actor?.userId }] },
    }),
  },
  "account.deletion": {
    shows: ({ otherTenant }, caller) => [
      caller === "stranger" ? otherTenant.id : '"blockingWorkspaces":[]',
      `"keyCount":${caller === "owner" ? 1 : 0}`,
    ],
  },
  // The stranger is the operator, and the only owner of a workspace with another member.
  "account.delete": {
    input: ({ people }, actor) => ({ email: (actor ?? people.removed).email }),
    effect: createAccountDeletion,
  },
  "account.startPasskey": {},
  "account.confirmPasskey": { input: () => ({ response: unknownPasskey }) },
  "account.signInMethods": { shows: () => ['"hasPassword":true', '"openid":null'] },
  // Everyone has a password.
  "account.setPassword": { input: () => ({ newPassword: "seven bridges over the river" }) },
  "account.startOpenid": { input: () => ({ use: "confirmation" }) },
  "account.linkOpenid": { input: () => ({ code: "code", state: "state" }) },
  "account.unlinkOpenid": {},
  "account.confirmOpenid": { input: () => ({ code: "code", state: "state" }) },
  "account.sessions": { shows: () => ['"isCurrent":true'] },
  // No session has the ID of a user.
  "account.endSession": {
    input: ({ people }) => ({ id: people.owner.id.replace("usr_", "ses_") }),
  },
  "account.endOtherSessions": { shows: () => ['"count":0'] },
  "account.signOutEverywhere": {
    effect: (_fixture, actor) => ({
      removed: listOwnSession(actor),
      added: { security_events: [{ user_id: actor?.userId, action: "session.signed-out" }] },
    }),
  },
  "factors.get": { shows: () => ['"totpSince":null', '"recoveryCodeCount":0'] },
  "factors.createTotp": {
    effect: (_fixture, actor) => ({
      added: { totp_factors: [{ user_id: actor?.userId, confirmed_at: null }] },
    }),
    shows: () => ["otpauth://totp/"],
  },
  "factors.enableTotp": { input: () => ({ code: "123456" }) },
  "factors.disableTotp": {},
  "factors.createRecoveryCodes": {},
  "factors.startPasskey": {
    effect: (_fixture, actor) => ({
      added: { verifications: [{ value: `${actor?.userId} registration` }] },
    }),
    shows: () => ['"userVerification":"required"'],
  },
  "factors.addPasskey": {
    input: () => ({
      name: "Laptop",
      response: { ...unknownPasskey, response: { clientDataJSON: "AAAA", attestationObject: "AAAA" } },
    }),
  },
  // No passkey has the ID of a user.
  "factors.renamePasskey": {
    input: ({ people }) => ({ id: people.owner.id.replace("usr_", "psk_"), name: "Laptop" }),
  },
  "factors.removePasskey": { input: ({ people }) => ({ id: people.owner.id.replace("usr_", "psk_") }) },
  "apiKeys.list": {
    input: () => ({}),
    shows: ({ ownersKey }, caller) => (caller === "owner" ? [ownersKey.id, '"total":1'] : ['"total":0']),
  },
  "apiKeys.summary": { shows: (_fixture, caller) => [`"keyCount":${caller === "owner" ? 1 : 0}`] },
  "apiKeys.get": {
    input: ({ ownersKey }) => ({ id: ownersKey.id }),
    shows: ({ ownersKey }) => [ownersKey.id],
  },
  "apiKeys.get, a service": {
    input: ({ serviceKey }) => ({ id: serviceKey.id }),
    shows: ({ serviceKey, serviceAccounts }) => [serviceKey.id, serviceAccounts.tenant.id],
    showsKeys: true,
  },
  // No workspace rejects the key, and other users see no workspace of it.
  "apiKeys.rejectingWorkspaces": {
    input: ({ ownersKey }) => ({ id: ownersKey.id }),
    shows: () => ['{"data":[]}'],
  },
  "apiKeys.checkPolicies": { input: () => ({ settings: {} }), shows: () => ['{"data":[]}'] },
  "apiKeys.create": {
    input: () => ({ name: "Made" }),
    effect: (fixture, actor) => ({
      added: {
        api_keys: [{ name: "Made", user_id: actor?.userId }],
        ...createKeyEvents(fixture, actor, "key.created"),
      },
    }),
  },
  "apiKeys.update": {
    input: ({ ownersKey }) => ({ id: ownersKey.id, name: "Changed", description: "", version: 1 }),
    effect: (fixture, actor) => ({
      removed: { api_keys: [{ id: fixture.ownersKey.keyId, name: fixture.ownersKey.name }] },
      added: {
        api_keys: [{ id: fixture.ownersKey.keyId, name: "Changed" }],
        ...createKeyEvents(fixture, actor, "key.renamed"),
      },
    }),
  },
  "apiKeys.update, a service": {
    input: ({ serviceKey }) => ({ id: serviceKey.id, name: "Changed", version: 1 }),
    effect: (fixture, actor) => ({
      removed: { api_keys: [{ id: fixture.serviceKey.keyId, name: fixture.serviceKey.name }] },
      added: {
        api_keys: [{ id: fixture.serviceKey.keyId, name: "Changed" }],
        ...createServiceKeyEvents(fixture, actor, "key.renamed"),
      },
    }),
    showsKeys: true,
  },
  "apiKeys.rotate": {
    input: ({ ownersKey }) => ({ id: ownersKey.id, overlapSeconds: 3_600 }),
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
  "apiKeys.rotate, a service": {
    input: ({ serviceKey }) => ({ id: serviceKey.id, overlapSeconds: 3_600 }),
    effect: (fixture, actor) => ({
      removed: { api_keys: [{ id: fixture.serviceKey.keyId, version: 1 }] },
      added: {
        api_keys: [{ id: fixture.serviceKey.keyId, version: 2 }],
        retired_secrets: [{ key_id: fixture.serviceKey.keyId }],
        ...createServiceKeyEvents(fixture, actor, "key.rotated"),
      },
    }),
    shows: () => ['"key":"lk_'],
    showsKeys: true,
  },
  ...revokeOldSecretsPlans("apiKeys.revokeOldSecrets"),
  ...revokeOldSecretsPlans("apiKeys.endOverlap"),
  "apiKeys.delete": {
    input: ({ ownersKey }) => ({ id: ownersKey.id }),
    effect: (fixture, actor) => ({
      removed: { api_keys: [{ id: fixture.ownersKey.keyId, deleted_at: null }] },
      added: {
        api_keys: [{ id: fixture.ownersKey.keyId, deleted_at: expect.any(String) }],
        ...createKeyEvents(fixture, actor, "key.deleted"),
      },
    }),
  },
  "apiKeys.delete, a service": {
    input: ({ serviceKey }) => ({ id: serviceKey.id }),
    effect: (fixture, actor) => ({
      removed: { api_keys: [{ id: fixture.serviceKey.keyId, deleted_at: null }] },
      added: {
        api_keys: [{ id: fixture.serviceKey.keyId, deleted_at: expect.any(String) }],
        ...createServiceKeyEvents(fixture, actor, "key.deleted"),
      },
    }),
  },
  "keyHistory.usage": {
    input: ({ ownersKey }) => ({
      id: ownersKey.id,
      from: "2026-03-01T00:00:00Z",
      to: "2026-03-02T00:00:00Z",
      bucket: "hour",
    }),
    shows: () => ['{"data":[]}'],
  },
  "keyHistory.usage, a service": {
    input: ({ serviceKey }) => ({
      id: serviceKey.id,
      from: "2026-03-01T00:00:00Z",
      to: "2026-03-02T00:00:00Z",
      bucket: "hour",
    }),
    shows: () => ['{"data":[]}'],
  },
  "keyHistory.usageInBuckets": {
    input: ({ ownersKey }) => ({ id: ownersKey.id, ...anyDay }),
    shows: () => ['{"data":[]}'],
  },
  "keyHistory.usageInBuckets, a service": {
    input: ({ serviceKey }) => ({ id: serviceKey.id, ...anyDay }),
    shows: () => ['{"data":[]}'],
  },
  "keyHistory.refusals": {
    input: ({ ownersKey }) => ({ id: ownersKey.id }),
    shows: () => ['{"data":[]}'],
  },
  "keyHistory.refusals, a service": {
    input: ({ serviceKey }) => ({ id: serviceKey.id }),
    shows: () => ['{"data":[]}'],
  },
  "keyHistory.addresses": {
    input: ({ ownersKey }) => ({ id: ownersKey.id }),
    shows: () => ['{"data":[]}'],
  },
  "keyHistory.addresses, a service": {
    input: ({ serviceKey }) => ({ id: serviceKey.id }),
    shows: () => ['{"data":[]}'],
  },
  "keyHistory.explainRequest": { input: () => ({ requestId: "some" }), shows: () => ['{"data":[]}'] },
  "keyHistory.tryOut": {
    input: ({ ownersKey }) => ({ key: ownersKey.secret, method: "GET", path: "/open/me" }),
    shows: ({ ownersKey }, caller) =>
      caller === "owner" ? ['"outcome":"admitted"', ownersKey.id] : ['"outcome":"unknown"', '"keyId":null'],
  },
  "keyHistory.evaluate": {
    input: ({ ownersKey }) => ({ id: ownersKey.id, method: "GET", path: "/open/me" }),
    shows: ({ ownersKey }) => ['"outcome":"admitted"', ownersKey.id],
  },
  "keyHistory.evaluate, a service": {
    input: ({ serviceKey }) => ({ id: serviceKey.id, method: "GET", path: "/open/me" }),
    shows: ({ serviceKey }) => ['"outcome":"admitted"', serviceKey.id],
    showsKeys: true,
  },
  "workspaces.get": { input: createWorkspaceInput(), shows: ({ tenant }) => [tenant.id, tenant.name] },
  "workspaces.create": {
    input: () => ({ name: "Made", description: "New" }),
    effect: (_fixture, actor) => ({
      added: {
        workspaces: [{ name: "Made", description: "New" }],
        members: [{ user_id: actor?.userId, role: "owner" }],
        audit_events: [{ action: "workspace.created", ...actorColumns(actor) }],
      },
    }),
  },
  "workspaces.update": {
    input: createWorkspaceInput(() => ({ description: "Described", version: 1 })),
    effect: ({ tenant: { workspaceId, name } }, actor) => ({
      removed: { workspaces: [{ id: workspaceId, name, description: "" }] },
      added: {
        workspaces: [{ id: workspaceId, name, description: "Described", version: 2 }],
        audit_events: [
          { workspace_id: workspaceId, action: "workspace.description-changed", ...actorColumns(actor) },
        ],
      },
    }),
    shows: () => ["Described"],
  },
  "workspaces.rename": {
    input: createWorkspaceInput(() => ({ name: "Renamed", version: 1 })),
    effect: ({ tenant }, actor) => ({
      removed: { workspaces: [{ id: tenant.workspaceId, name: tenant.name }] },
      added: {
        workspaces: [{ id: tenant.workspaceId, name: "Renamed", version: 2 }],
        audit_events: [
          { workspace_id: tenant.workspaceId, action: "workspace.renamed", ...actorColumns(actor) },
        ],
      },
    }),
  },
  "workspaces.delete": {
    input: createWorkspaceInput(),
    effect: ({ tenant: { workspaceId, name }, serviceAccounts }, actor) => ({
      removed: {
        workspaces: [{ id: workspaceId }],
        members: Array.from({ length: 7 }, () => ({ workspace_id: workspaceId })),
        invitations: Array.from({ length: 2 }, () => ({ workspace_id: workspaceId })),
        webhooks: [{ workspace_id: workspaceId }],
        keyspaces: [{ workspace_id: workspaceId }],
        users: [{ id: serviceAccounts.tenant.userId }],
        api_keys: [{ user_id: serviceAccounts.tenant.userId }],
        security_events: [{ user_id: serviceAccounts.tenant.userId }],
      },
      // The purge deletes the rest.
      added: {
        deleted_workspaces: [{ workspace_id: workspaceId }],
        deleted_webhooks: [{ workspace_id: workspaceId }],
        deleted_keyspaces: [{ workspace_id: workspaceId }],
        instance_events: [
          {
            action: "workspace.deleted",
            actor_kind: "session",
            actor_id: actor?.userId,
            target_workspace_id: workspaceId,
            target_workspace_name: name,
          },
        ],
      },
    }),
  },
  "members.list": {
    input: createWorkspaceInput(),
    shows: ({ people }) => [people.viewer.email, people.coOwner.email, '"total":7'],
  },
  "members.withoutSecondFactor": {
    input: createWorkspaceInput(),
    shows: ({ people }) => [people.viewer.email, people.owner.email, '"total":6'],
  },
  "members.changeRole": createRoleChange(({ target }) => target, { from: "viewer", to: "member" }),
  "members.changeRole, to owner": createRoleChange(({ target }) => target, { from: "viewer", to: "owner" }),
  "members.changeRole, of an owner": createRoleChange(({ coOwner }) => coOwner, {
    from: "owner",
    to: "viewer",
  }),
  "members.changeRole, of a foreigner": createRoleChange(({ foreigner }) => foreigner, {
    from: "viewer",
    to: "member",
  }),
  "members.leave": createDeparture(),
  "members.remove": createRemoval(({ target }) => target),
  "members.remove, oneself": createRemoval(({ target }, actor) => actor ?? target),
  "members.remove, an owner": createRemoval(({ coOwner }) => coOwner),
  "members.remove, a foreigner": createRemoval(({ foreigner }) => foreigner),
  "serviceAccounts.get": {
    input: createServiceAccountInput(),
    shows: ({ serviceAccounts }) => [serviceAccounts.tenant.id, serviceAccounts.tenant.email],
  },
  "serviceAccounts.get, a foreign one": { input: createServiceAccountInput("otherTenant") },
  "serviceAccounts.create": {
    input: createWorkspaceInput(() => ({ name: "Backups", role: "viewer" })),
    effect: ({ tenant: { workspaceId } }, actor) => ({
      added: {
        users: [{ name: "Backups", service_workspace_id: workspaceId }],
        members: [{ workspace_id: workspaceId, role: "viewer" }],
        audit_events: [
          { workspace_id: workspaceId, action: "service-account.created", ...actorColumns(actor) },
        ],
      },
    }),
  },
  "serviceAccounts.change": {
    input: createServiceAccountInput("tenant", { role: "member", isDisabled: true, version: 1 }),
    effect: ({ serviceAccounts: { tenant } }, actor) => ({
      removed: { users: [{ id: tenant.userId }], members: [{ user_id: tenant.userId, version: 1 }] },
      added: {
        users: [{ id: tenant.userId, disabled_at: expect.any(String) }],
        members: [{ user_id: tenant.userId, version: 2 }],
        audit_events: [
          { action: "service-account.disabled", target_id: tenant.userId, ...actorColumns(actor) },
        ],
      },
    }),
  },
  "serviceAccounts.change, a foreign one": {
    input: createServiceAccountInput("otherTenant", { isDisabled: true }),
  },
  "serviceAccounts.keys": {
    input: createServiceAccountInput(),
    shows: ({ serviceKey }) => [serviceKey.id, '"total":1'],
    showsKeys: true,
  },
  "serviceAccounts.keys, of a person": {
    input: createWorkspaceInput(({ people }) => ({ userId: people.owner.id })),
  },
  "serviceAccounts.createKey": {
    input: createServiceAccountInput("tenant", { name: "Made" }),
    effect: (fixture, actor) => ({
      added: {
        api_keys: [{ name: "Made", user_id: fixture.serviceAccounts.tenant.userId }],
        ...createServiceKeyEvents(fixture, actor, "key.created"),
      },
    }),
    shows: () => ['"key":"lk_'],
  },
  "serviceAccounts.createKey, of a person": {
    input: createWorkspaceInput(({ people }) => ({ userId: people.viewer.id, name: "Made" })),
  },
  "serviceAccounts.createKey, a foreigner": {
    input: createServiceAccountInput("otherTenant", { name: "Made" }),
  },
  "serviceAccounts.delete": {
    input: createServiceAccountInput(),
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
        security_events: [{ user_id: tenant.userId, action: "key.deleted", actor_kind: "session" }],
      },
    }),
  },
  "serviceAccounts.delete, a foreign one": { input: createServiceAccountInput("otherTenant") },
  "offboarding.preview": {
    input: createWorkspaceInput(({ people }) => ({ userId: people.owner.id, role: "viewer" })),
    shows: ({ ownersKey }) => [ownersKey.id, '"replacementRole":"admin"', "members:manage"],
    showsKeys: true,
  },
  "offboarding.preview, a foreigner": {
    input: createWorkspaceInput(({ people }) => ({ userId: people.foreigner.id })),
  },
  "offboarding.previewOwn": {
    input: createWorkspaceInput(),
    shows: ({ ownersKey }, caller) => (caller === "owner" ? [ownersKey.id, "workspace:read"] : ['"total":0']),
  },
  "offboarding.replaceKeys": {
    input: createWorkspaceInput(({ people, ownersKey }) => ({
      userId: people.owner.id,
      keyIds: [ownersKey.id],
      name: "Integrations",
    })),
    effect: ({ tenant: { workspaceId }, ownersKey }, actor) => ({
      added: {
        users: [{ name: "Integrations", service_workspace_id: workspaceId }],
        members: [{ workspace_id: workspaceId, role: "admin" }],
        api_keys: [{ name: ownersKey.name }],
        security_events: [{ action: "key.created", actor_kind: "session" }],
        audit_events: ["service-account.created", "key.created"].map((action) => ({
          ...{ workspace_id: workspaceId, action },
          ...actorColumns(actor),
        })),
      },
    }),
    shows: ({ ownersKey }) => [ownersKey.id, '"key":"lk_'],
    showsKeys: true,
  },
  // The key isn't the member's.
  "offboarding.replaceKeys, of another": {
    input: createWorkspaceInput(({ people, ownersKey }) => ({
      userId: people.target.id,
      keyIds: [ownersKey.id],
      name: "Integrations",
    })),
  },
  "ownership.get": {
    input: createWorkspaceInput(),
    hasTransfer: true,
    shows: ({ people }) => [people.coOwner.id, people.member.id],
  },
  "ownership.offer": createOfferPlan(({ target }) => target),
  "ownership.offer, to a foreigner": createOfferPlan(({ foreigner }) => foreigner),
  "ownership.accept": {
    input: createWorkspaceInput(),
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
          { user_id: member.userId, role: "owner" },
          { user_id: coOwner.userId, role: "admin" },
        ],
        audit_events: [
          { action: "ownership.accepted", ...actorColumns(actor) },
          { action: "member.role-changed", ...actorColumns(actor) },
          { action: "member.role-changed", ...actorColumns(actor) },
        ],
        notices: [{ user_id: coOwner.userId, kind: "role-changed" }],
      },
    }),
  },
  "ownership.end": {
    input: createWorkspaceInput(),
    hasTransfer: true,
    effect: ({ tenant: { workspaceId }, people }, actor) => ({
      removed: { ownership_transfers: [{ workspace_id: workspaceId }] },
      added: {
        audit_events: [
          {
            action: `ownership.${actor === people.member ? "declined" : "withdrawn"}`,
            ...actorColumns(actor),
          },
        ],
      },
    }),
  },
  "invitations.list": {
    input: createWorkspaceInput(),
    shows: ({ invitations }, caller) =>
      caller === "member"
        ? [invitations.byMember.email, '"total":1']
        : [invitations.tenant.email, invitations.byMember.email, '"total":2'],
    hides: ({ invitations }, caller) => (caller === "member" ? [invitations.tenant.email] : []),
  },
  // The text is a part of the email addresses of both tenants.
  "invitations.list, filtered": {
    input: createWorkspaceInput(() => ({ search: "invitee-", status: "pending" })),
    shows: ({ invitations }, caller) =>
      caller === "member"
        ? [invitations.byMember.email, '"total":1']
        : [invitations.tenant.email, invitations.byMember.email, '"total":2'],
    hides: ({ invitations }, caller) => (caller === "member" ? [invitations.tenant.email] : []),
  },
  "invitations.create": createInvitationPlan("member"),
  "invitations.create, an admin": createInvitationPlan("admin"),
  "invitations.create, an owner": createInvitationPlan("owner"),
  "invitations.resend": createResendPlan("tenant"),
  "invitations.resend, of the member": createResendPlan("byMember"),
  "invitations.resend, a foreign one": {
    input: createWorkspaceInput(({ invitations }) => ({ id: invitations.otherTenant.id })),
  },
  "invitations.revoke": createRevocationPlan("tenant"),
  "invitations.revoke, of the member": createRevocationPlan("byMember"),
  "invitations.revoke, a foreign one": {
    input: createWorkspaceInput(({ invitations }) => ({ id: invitations.otherTenant.id })),
  },
  "invitations.preview": { input: () => ({ token: "unknown" }) },
  "invitations.accept": { input: () => ({ token: "unknown" }) },
  "audit.actors": { input: createWorkspaceInput() },
  "audit.list": {
    input: createWorkspaceInput(),
    shows: ({ people }) => ["member.added", people.removed.id],
    showsKeys: true,
  },
  "audit.previewRetention": {
    input: createWorkspaceInput(() => ({ days: 30 })),
    shows: () => ['{"count":0,"isComplete":true,"oldestAt":null}'],
  },
  // Every member sees the totals of the workspace, and only owners and admins see which key they come from.
  "overview.usage": {
    input: createWorkspaceInput(() => dayOfUse),
    shows: () => ['"outcome":"admitted","count":7'],
  },
  "overview.keys": {
    input: createWorkspaceInput(() => dayOfUse),
    shows: ({ ownersKey }, caller) =>
      seesAllKeys(caller)
        ? ['"isOwn":false,"total":2', ownersKey.id, '"count":7']
        : ['"isOwn":true,"total":0,"busiest":[]'],
    showsKeys: true,
  },
  "overview.verifications": {
    input: createWorkspaceInput(() => dayOfUse),
    shows: ({ issuedKeys: { tenant }, keyspaces }) => [
      '"outcome":"VALID","count":9',
      tenant.id,
      tenant.externalId,
      keyspaces.tenant.id,
    ],
  },
  ...createUsagePlans(
    "usage",
    () => dayOfUse,
    () => ['"outcome":"VALID","count":9'],
  ),
  ...createUsagePlans(
    "busiest",
    () => dayOfUse,
    ({ issuedKeys: { tenant } }) => [tenant.id, tenant.externalId],
  ),
  // The other keyspace is left out.
  "keyspaceUsage.keyspaceUses": {
    input: createWorkspaceInput(({ keyspaces }) => ({
      ids: `${keyspaces.otherTenant.id},${keyspaces.tenant.id}`,
    })),
    shows: ({ keyspaces: { tenant } }) => [`[{"id":"${tenant.id}","useCount":9`],
  },
  ...createUsagePlans(
    "keyUsage",
    ({ issuedKeys }, of) => ({ ...dayOfUse, id: issuedKeys[of].id }),
    () => ['"outcome":"VALID","count":9'],
  ),
  ...createUsagePlans(
    "consumerUsage",
    ({ issuedKeys }, of) => ({ ...dayOfUse, externalId: issuedKeys[of].externalId }),
    () => ['"outcome":"VALID","count":9'],
  ),
  ...createUsagePlans(
    "latestOutcome",
    () => ({}),
    () => ['"outcome":"VALID"'],
  ),
  ...createUsagePlans(
    "rejections",
    ({ issuedKeys }, of) => ({ id: issuedKeys[of].id }),
    () => ['"code":"EXPIRED"'],
  ),
  ...createUsagePlans(
    "recent",
    ({ issuedKeys }, of) => ({ ids: issuedKeys[of].id }),
    ({ issuedKeys: { tenant } }) => [`"id":"${tenant.id}","count":9,"useCount":9`],
  ),
  "keyspaceUsage.recent, of foreign keys": {
    input: createKeyspaceInput("tenant", ({ issuedKeys }) => ({ ids: issuedKeys.otherTenant.id })),
    shows: () => ["[]"],
  },
  "workspaceKeys.list": {
    input: createWorkspaceInput(),
    shows: ({ ownersKey }, caller) =>
      seesAllKeys(caller) ? [ownersKey.id, '"total":2'] : ['"items":[],"total":0'],
    showsKeys: true,
  },
  "workspaceKeys.block": {
    input: createWorkspaceInput(({ ownersKey }) => ({ keyIds: [ownersKey.id] })),
    effect: ({ tenant: { workspaceId }, ownersKey: { keyId } }, actor) => ({
      added: {
        workspace_key_access: [{ workspace_id: workspaceId, key_id: keyId, blocked_by: actor?.userId }],
        audit_events: [
          { workspace_id: workspaceId, action: "key.blocked", target_id: keyId, ...actorColumns(actor) },
        ],
      },
    }),
  },
  // The key isn't blocked.
  "workspaceKeys.unblock": {
    input: createWorkspaceInput(({ ownersKey }) => ({ keyIds: [ownersKey.id] })),
  },
  "workspaceKeys.policy": { input: createWorkspaceInput(), shows: () => ['"maxIdleDays":null'] },
  "workspaceKeys.previewPolicy": {
    input: createWorkspaceInput(() => ({ isExpiryRequired: true })),
    shows: ({ ownersKey }) => [ownersKey.id],
    showsKeys: true,
  },
  "workspaceKeys.changePolicy": {
    input: createWorkspaceInput(() => ({ maxIdleDays: 30, version: 1 })),
    effect: ({ tenant: { workspaceId } }, actor) => ({
      added: {
        api_key_policies: [{ workspace_id: workspaceId, max_idle_days: 30, version: 2 }],
        audit_events: [
          { workspace_id: workspaceId, action: "api-key-policy.changed", ...actorColumns(actor) },
        ],
      },
    }),
  },
  "securityLog.list": {
    input: () => ({}),
    shows: ({ ownersKey }, caller) => (caller === "owner" ? ["key.created", ownersKey.id] : ['"items":[]']),
  },
  "notices.list": { input: () => ({}), shows: () => ['"items":[]'] },
  "notices.unreadCount": { shows: () => ['{"data":0}'] },
  // No notice has the ID of a user.
  "notices.markRead": { input: ({ people }) => ({ id: people.owner.id.replace("usr_", "ntc_") }) },
  "notices.markAllRead": {},
  "notices.settings": { shows: () => ['"kind":"invitation","inApp":true,"byEmail":true'] },
  "notices.changeSetting": {
    input: () => ({ kind: "invitation", inApp: false }),
    effect: (_fixture, actor) => ({
      added: {
        notice_settings: [{ user_id: actor?.userId, kind: "invitation", in_app: false }],
        security_events: [{ user_id: actor?.userId, action: "notice-setting.changed" }],
      },
    }),
  },
  "issuedKeyImport.importRows": {
    input: createWorkspaceInput(({ keyspaces }) => ({ keyspaceId: keyspaces.tenant.id, rows: importedRows })),
    effect: ({ tenant: { workspaceId }, keyspaces: { tenant } }, actor) => ({
      removed: { issued_key_counts: [{ keyspace_id: tenant.keyspaceId, key_count: 1 }] },
      added: {
        issued_keys: [{ workspace_id: workspaceId, keyspace_id: tenant.keyspaceId, name: "Globex" }],
        consumers: [{ workspace_id: workspaceId, keyspace_id: tenant.keyspaceId, external_id: "globex" }],
        issued_key_counts: [{ keyspace_id: tenant.keyspaceId, key_count: 2 }],
        audit_events: [
          { workspace_id: workspaceId, action: "keyspace.keys-imported", ...actorColumns(actor) },
        ],
      },
    }),
    shows: () => ['"imported":1'],
  },
  "issuedKeyImport.importRows, into a foreign one": {
    input: createWorkspaceInput(({ keyspaces }) => ({
      ...{ keyspaceId: keyspaces.otherTenant.id, rows: importedRows },
    })),
  },
  "consumers.list": {
    input: createConsumerInput("tenant"),
    shows: ({ issuedKeys }) => [issuedKeys.tenant.externalId],
  },
  "consumers.list, of a foreign keyspace": { input: createConsumerInput("otherTenant") },
  "consumers.get": {
    input: createConsumerInput("tenant", ({ externalId }) => ({ externalId })),
    shows: ({ issuedKeys }) => [issuedKeys.tenant.externalId, '"keyCount":1'],
  },
  "consumers.get, a foreign one": {
    input: createConsumerInput("otherTenant", ({ externalId }) => ({ externalId })),
  },
  "consumers.update": {
    input: createConsumerInput("tenant", changeLimits),
    effect: ({ tenant: { workspaceId }, issuedKeys: { tenant } }, actor) => ({
      removed: { consumers: [{ external_id: tenant.externalId, version: 1 }] },
      added: {
        consumers: [{ external_id: tenant.externalId, version: 2 }],
        audit_events: [{ workspace_id: workspaceId, action: "consumer.changed", ...actorColumns(actor) }],
      },
    }),
    shows: ({ issuedKeys }) => [issuedKeys.tenant.externalId],
  },
  "consumers.update, a foreign one": { input: createConsumerInput("otherTenant", changeLimits) },
  "issuedKeyBulk.change": {
    input: createConsumerInput("tenant", disableAll),
    effect: ({ tenant: { workspaceId }, issuedKeys: { tenant } }, actor) => ({
      removed: { issued_keys: [{ id: tenant.issuedKeyId, version: 1 }] },
      added: {
        issued_keys: [{ id: tenant.issuedKeyId, version: 2 }],
        audit_events: [{ workspace_id: workspaceId, action: "issued-key.disabled", ...actorColumns(actor) }],
      },
    }),
    shows: ({ issuedKeys }) => [`"changed":["${issuedKeys.tenant.id}"]`],
  },
  "issuedKeyBulk.change, a foreign one": { input: createConsumerInput("otherTenant", disableAll) },
  "issuedKeyBulk.rotate": {
    input: createConsumerInput("tenant", rotateAll),
    effect: rotateIssuedKey,
    shows: ({ issuedKeys }) => [`"rotated":[{"id":"${issuedKeys.tenant.id}"`, '"key":"sk_live_'],
  },
  "issuedKeyBulk.rotate, a foreign one": { input: createConsumerInput("otherTenant", rotateAll) },
  "issuedKeyCredits.change": {
    input: createIssuedKeyInput("tenant", { change: { set: 5 } }),
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
  "issuedKeyCredits.change, a foreign one": {
    input: createIssuedKeyInput("otherTenant", { change: { set: 5 } }),
  },
  "webhooks.list": {
    input: createWorkspaceInput(),
    shows: ({ webhooks }) => [webhooks.tenant.url],
  },
  ...webhookPlans("get", { shows: ({ webhooks }) => [webhooks.tenant.url] }),
  "webhooks.create": {
    input: createWorkspaceInput(() => ({ url: "https://example.com/new", actions: ["key.created"] })),
    effect: ({ tenant: { workspaceId } }, actor) => ({
      added: {
        webhooks: [{ workspace_id: workspaceId, url: "https://example.com/new" }],
        audit_events: [{ workspace_id: workspaceId, action: "webhook.created", ...actorColumns(actor) }],
      },
    }),
    shows: () => ['"secret":"whsec_'],
  },
  ...webhookPlans("update", {
    input: () => ({ version: 1, changes: { description: "Changed" } }),
    effect: (fixture, actor) => changeWebhook(fixture, actor, "webhook.changed"),
    shows: () => ["Changed"],
  }),
  ...webhookPlans("delete", {
    effect: ({ tenant: { workspaceId }, webhooks }, actor) => ({
      removed: {
        webhooks: [{ workspace_id: workspaceId, url: webhooks.tenant.url }],
      },
      added: {
        deleted_webhooks: [{ workspace_id: workspaceId }],
        audit_events: [{ workspace_id: workspaceId, action: "webhook.deleted", ...actorColumns(actor) }],
      },
    }),
  }),
  ...webhookPlans("rotateSecret", {
    input: () => ({ overlapSeconds: 60 }),
    effect: (fixture, actor) => changeWebhook(fixture, actor, "webhook.secret-rotated"),
    shows: () => ['"secret":"whsec_'],
  }),
  ...webhookPlans("test", {
    effect: ({ tenant: { workspaceId } }) => ({
      added: { webhook_deliveries: [{ workspace_id: workspaceId, action: "webhook.test" }] },
    }),
    shows: () => ["webhook.test"],
  }),
  ...webhookPlans(
    "deliveries",
    { shows: ({ webhooks }) => [webhooks.tenant.deliveryId] },
    "of a foreign one",
  ),
  ...webhookPlans("redeliver", {
    input: ({ webhooks }) => ({ deliveryId: webhooks.tenant.deliveryId }),
    effect: ({ tenant: { workspaceId } }) => ({
      removed: { webhook_deliveries: [{ workspace_id: workspaceId }] },
      added: { webhook_deliveries: [{ workspace_id: workspaceId, status: "pending" }] },
    }),
    shows: ({ webhooks }) => [webhooks.tenant.deliveryId],
  }),
  "keyspaces.list": {
    input: createWorkspaceInput(),
    shows: ({ keyspaces }) => [keyspaces.tenant.id, keyspaces.tenant.name],
  },
  ...keyspacePlans("get", { shows: ({ keyspaces }) => [keyspaces.tenant.id, keyspaces.tenant.name] }),
  "keyspaces.create": {
    input: createWorkspaceInput(() => ({ fields: { name: "Staging", prefix: "sk_test" } })),
    effect: ({ tenant: { workspaceId } }, actor) => ({
      added: {
        keyspaces: [{ workspace_id: workspaceId, name: "Staging", prefix: "sk_test" }],
        audit_events: [{ workspace_id: workspaceId, action: "keyspace.created", ...actorColumns(actor) }],
      },
    }),
    shows: () => ["Staging"],
  },
  ...keyspacePlans("update", {
    input: () => ({ version: 1, changes: { name: "Staging" } }),
    effect: ({ tenant: { workspaceId }, keyspaces: { tenant } }, actor) => ({
      removed: { keyspaces: [{ id: tenant.keyspaceId, name: tenant.name, version: 1 }] },
      added: {
        keyspaces: [{ id: tenant.keyspaceId, name: "Staging", version: 2 }],
        audit_events: [{ workspace_id: workspaceId, action: "keyspace.changed", ...actorColumns(actor) }],
      },
    }),
    shows: () => ["Staging"],
  }),
  ...keyspacePlans("impact", { shows: () => ['"keyCount":1', '"activeKeyCount":1'] }),
  ...keyspacePlans("previewDeletion", { shows: () => ['"keyCount":1'] }),
  ...keyspacePlans("delete", {
    effect: ({ tenant: { workspaceId }, keyspaces: { tenant } }, actor) => ({
      removed: { keyspaces: [{ id: tenant.keyspaceId }] },
      added: {
        deleted_keyspaces: [{ id: tenant.keyspaceId, workspace_id: workspaceId }],
        audit_events: [{ workspace_id: workspaceId, action: "keyspace.deleted", ...actorColumns(actor) }],
      },
    }),
  }),
  "issuedKeys.list": {
    input: createKeyspaceInput(),
    shows: ({ issuedKeys }) => [issuedKeys.tenant.id, issuedKeys.tenant.externalId],
  },
  "issuedKeys.list, of a foreign one": { input: createKeyspaceInput("otherTenant") },
  ...issuedKeyPlans("get", {
    shows: ({ issuedKeys }) => [issuedKeys.tenant.id, issuedKeys.tenant.externalId],
  }),
  ...issuedKeyPlans("changes", {
    input: () => ({ hasCredits: true }),
    shows: () => ['"data":[]'],
  }),
  "issuedKeys.create": {
    input: createKeyspaceInput("tenant", () => ({ fields: { name: "Globex" } })),
    effect: ({ tenant: { workspaceId }, keyspaces: { tenant } }, actor) => ({
      removed: { issued_key_counts: [{ keyspace_id: tenant.keyspaceId, key_count: 1 }] },
      added: {
        issued_keys: [{ workspace_id: workspaceId, keyspace_id: tenant.keyspaceId, name: "Globex" }],
        issued_key_counts: [{ keyspace_id: tenant.keyspaceId, key_count: 2 }],
        audit_events: [{ workspace_id: workspaceId, action: "issued-key.created", ...actorColumns(actor) }],
      },
    }),
    shows: () => ["Globex", '"key":"sk_live_'],
  },
  "issuedKeys.create, in a foreign one": {
    input: createKeyspaceInput("otherTenant", () => ({ fields: { name: "Globex" } })),
  },
  ...issuedKeyPlans("update", {
    input: () => ({ version: 1, changes: { name: "Globex" } }),
    effect: (fixture, actor) => changeIssuedKey(fixture, actor, "issued-key.changed"),
    shows: () => ["Globex"],
  }),
  ...issuedKeyPlans("rotate", {
    input: () => ({ overlapSeconds: 60 }),
    effect: rotateIssuedKey,
    shows: () => ['"key":"sk_live_'],
  }),
  ...issuedKeyPlans("revokeOldSecrets", {
    effect: revokeOldSecrets,
    shows: () => ['"formerSecrets":[]'],
  }),
  ...issuedKeyPlans("delete", {
    effect: ({ tenant: { workspaceId }, keyspaces, issuedKeys: { tenant } }, actor) => ({
      removed: {
        issued_keys: [{ id: tenant.issuedKeyId }],
        issued_key_counts: [{ keyspace_id: keyspaces.tenant.keyspaceId, key_count: 1 }],
        // The consumer has no key anymore.
        consumers: [{ external_id: tenant.externalId }],
        retired_issued_secrets: [{ key_id: tenant.issuedKeyId }],
      },
      added: {
        issued_key_counts: [{ keyspace_id: keyspaces.tenant.keyspaceId, key_count: 0 }],
        consumers: [{ external_id: tenant.externalId }],
        audit_events: [{ workspace_id: workspaceId, action: "issued-key.deleted", ...actorColumns(actor) }],
      },
    }),
  }),
  "issuedKeys.verify": {
    input: createKeyspaceInput("tenant", ({ issuedKeys }) => ({ key: issuedKeys.tenant.secret })),
    shows: ({ issuedKeys }) => ['"code":"VALID"', issuedKeys.tenant.id, issuedKeys.tenant.externalId],
  },
  "issuedKeys.verify, a foreign one": {
    input: createKeyspaceInput("otherTenant", ({ issuedKeys }) => ({ key: issuedKeys.otherTenant.secret })),
    shows: () => ['"code":"NOT_FOUND"'],
  },
  "issuedKeys.verify, of another keyspace": {
    input: createKeyspaceInput("tenant", ({ issuedKeys }) => ({ key: issuedKeys.otherTenant.secret })),
    shows: () => ['"code":"NOT_FOUND"'],
  },
  // Nobody in the table is an operator; test/operators.test.ts calls these as one.
  "operator.users": { input: () => ({}) },
  "operator.workspaces": { input: () => ({}) },
  "operator.workspaceReach": operatedWorkspacePlan,
  "operator.disableWorkspace": operatedWorkspacePlan,
  "operator.enableWorkspace": operatedWorkspacePlan,
  "operator.disableUser": operatorPlan,
  "operator.enableUser": operatorPlan,
  "operator.endSessions": operatorPlan,
  "operator.createResetLink": operatorPlan,
  "operator.grantRole": operatorPlan,
  "operator.revokeRole": operatorPlan,
  "operator.instance": {},
  "operator.log": { input: () => ({}) },
};

/** The day before and after the use of the owner's key, in seconds since 1970. */
const dayOfUse = {
  starts: [timeOfUse.getTime() / 1_000 - 86_400],
  to: timeOfUse.getTime() / 1_000 + 86_400,
};

/** In seconds since 1970-01-01T00:00:00Z. */
const anyDay = { starts: [1_772_323_200], to: 1_772_409_600 };

function seesAllKeys(caller: Caller): boolean {
  return caller === "owner" || caller === "admin";
}

/** The log events of a change to a key: one in its owner's security log, and one in the owner's workspace. */
function createKeyEvents(
  { tenant, otherTenant, people }: TenantFixture,
  actor: Actor,
  action: string,
): NonNullable<Effect["added"]> {
  const isOtherTenant = actor === people.stranger || actor === people.foreigner;
  const workspaceId = (isOtherTenant ? otherTenant : tenant).workspaceId;
  return {
    security_events: [{ user_id: actor?.userId, action, actor_kind: "session", actor_key_id: null }],
    ...(actor === people.removed
      ? {}
      : {
          audit_events: [{ workspace_id: workspaceId, action, target_kind: "key", ...actorColumns(actor) }],
        }),
  };
}

/** The events of a change of our service account's key by a user of the web app. */
function createServiceKeyEvents(
  { tenant: { workspaceId }, serviceAccounts, serviceKey }: TenantFixture,
  actor: Actor,
  action: string,
): NonNullable<Effect["added"]> {
  const target = action === "key.created" ? {} : { target_id: serviceKey.keyId };
  return {
    security_events: [{ user_id: serviceAccounts.tenant.userId, action, actor_kind: "session" }],
    audit_events: [
      { workspace_id: workspaceId, action, target_kind: "key", ...target, ...actorColumns(actor) },
    ],
  };
}

function createServiceAccountInput(
  whose: "tenant" | "otherTenant" = "tenant",
  change: object = {},
): NonNullable<Plan["input"]> {
  return createWorkspaceInput(({ serviceAccounts }) => ({ userId: serviceAccounts[whose].id, ...change }));
}

function createIssuedKeyInput(
  whose: "tenant" | "otherTenant",
  members: object = {},
): NonNullable<Plan["input"]> {
  return createWorkspaceInput(({ keyspaces, issuedKeys }) => ({
    keyspaceId: keyspaces[whose].id,
    id: issuedKeys[whose].id,
    ...members,
  }));
}

/** The input of a procedure about a keyspace or its consumer. */
function createConsumerInput(
  whose: "tenant" | "otherTenant",
  createMembers: (key: { readonly externalId: string }) => object = () => ({}),
): NonNullable<Plan["input"]> {
  return createWorkspaceInput(({ keyspaces, issuedKeys }) => ({
    keyspaceId: keyspaces[whose].id,
    ...createMembers(issuedKeys[whose]),
  }));
}

function disableAll({ externalId }: { readonly externalId: string }): object {
  return { change: { action: "disable", externalId } };
}

function rotateAll({ externalId }: { readonly externalId: string }): object {
  return { rotation: { externalId, overlapSeconds: 60 } };
}

function changeLimits({ externalId }: { readonly externalId: string }): object {
  return { externalId, version: 1, changes: { limits: [{ name: "requests", quota: 5, windowSeconds: 60 }] } };
}

function createWorkspaceInput(createMembers: Plan["input"] = () => ({})): NonNullable<Plan["input"]> {
  return (fixture, actor) => ({ workspaceId: fixture.tenant.id, ...createMembers(fixture, actor) });
}

/** The plans of a procedure that is called with a webhook of the workspace, and with a foreign one. */
function webhookPlans(name: string, plan: Plan, foreign = "a foreign one"): Record<string, Plan> {
  const inputWith = (tenant: "tenant" | "otherTenant"): NonNullable<Plan["input"]> =>
    createWorkspaceInput((fixture, actor) => ({
      ...plan.input?.(fixture, actor),
      id: fixture.webhooks[tenant].id,
    }));
  return {
    [`webhooks.${name}`]: { ...plan, input: inputWith("tenant") },
    [`webhooks.${name}, ${foreign}`]: { input: inputWith("otherTenant") },
  };
}

/** The input of a procedure about a keyspace. */
function createKeyspaceInput(
  whose: "tenant" | "otherTenant" = "tenant",
  createMembers: Plan["input"] = () => ({}),
): NonNullable<Plan["input"]> {
  return createWorkspaceInput((fixture, actor) => ({
    keyspaceId: fixture.keyspaces[whose].id,
    ...createMembers(fixture, actor),
  }));
}

/** The plans of a procedure that is called with a keyspace of the workspace, and with a foreign one. */
function keyspacePlans(name: string, plan: Plan): Record<string, Plan> {
  return {
    [`keyspaces.${name}`]: { ...plan, input: createKeyspaceInput("tenant", plan.input) },
    [`keyspaces.${name}, a foreign one`]: { input: createKeyspaceInput("otherTenant", plan.input) },
  };
}

/** The plans of a procedure that revokes old secrets, called with a key of the owner and with one of a service account. */
function revokeOldSecretsPlans(name: string): Record<string, Plan> {
  return {
    [name]: {
      input: ({ ownersKey }) => ({ id: ownersKey.id }),
      shows: ({ ownersKey }) => [ownersKey.id],
    },
    [`${name}, a service`]: {
      input: ({ serviceKey }) => ({ id: serviceKey.id }),
      shows: ({ serviceKey }) => [serviceKey.id],
      showsKeys: true,
    },
  };
}

/** The plans of a procedure that is called with an issued key, with a foreign one, and with one of another keyspace. */
function issuedKeyPlans(name: string, plan: Plan): Record<string, Plan> {
  const inputWith = (
    keyspaceOf: "tenant" | "otherTenant",
    keyOf: "tenant" | "otherTenant",
  ): NonNullable<Plan["input"]> =>
    createKeyspaceInput(keyspaceOf, (fixture, actor) => ({
      id: fixture.issuedKeys[keyOf].id,
      ...plan.input?.(fixture, actor),
    }));
  return {
    [`issuedKeys.${name}`]: { ...plan, input: inputWith("tenant", "tenant") },
    [`issuedKeys.${name}, a foreign one`]: { input: inputWith("otherTenant", "otherTenant") },
    [`issuedKeys.${name}, of another keyspace`]: { input: inputWith("tenant", "otherTenant") },
  };
}

function rotateIssuedKey(fixture: TenantFixture, actor: Actor): Effect {
  const effect = changeIssuedKey(fixture, actor, "issued-key.rotated");
  const { issuedKeyId } = fixture.issuedKeys.tenant;
  return { ...effect, added: { ...effect.added, retired_issued_secrets: [{ key_id: issuedKeyId }] } };
}

function revokeOldSecrets(fixture: TenantFixture, actor: Actor): Effect {
  const effect = changeIssuedKey(fixture, actor, "issued-key.former-secrets-revoked");
  const secret = { key_id: fixture.issuedKeys.tenant.issuedKeyId };
  return {
    removed: { ...effect.removed, retired_issued_secrets: [secret] },
    added: { ...effect.added, retired_issued_secrets: [{ ...secret, good_until: "-infinity" }] },
  };
}

function changeIssuedKey(
  { tenant: { workspaceId }, issuedKeys }: TenantFixture,
  actor: Actor,
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

function changeWebhook(
  { tenant: { workspaceId }, webhooks }: TenantFixture,
  actor: Actor,
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

function createResendPlan(whose: "tenant" | "byMember"): Plan {
  return {
    input: createWorkspaceInput(({ invitations }) => ({ id: invitations[whose].id })),
    effect: ({ tenant: { workspaceId }, invitations, people }, actor) => {
      const { email } = invitations[whose];
      const inviter = whose === "tenant" ? null : people.member.userId;
      return {
        removed: { invitations: [{ email, invited_by: inviter }], verifications: [{}] },
        added: {
          invitations: [{ email, invited_by: actor?.userId }],
          verifications: [{}],
          audit_events: [{ workspace_id: workspaceId, action: "invitation.resent", ...actorColumns(actor) }],
        },
      };
    },
    shows: () => ["/invitation#"],
  };
}

function createRevocationPlan(whose: "tenant" | "byMember"): Plan {
  return {
    input: createWorkspaceInput(({ invitations }) => ({ id: invitations[whose].id })),
    effect: ({ tenant: { workspaceId }, invitations }, actor) => ({
      removed: { invitations: [{ email: invitations[whose].email }], verifications: [{}] },
      added: {
        audit_events: [{ workspace_id: workspaceId, action: "invitation.revoked", ...actorColumns(actor) }],
      },
    }),
  };
}

function createInvitationPlan(role: string): Plan {
  const email = "new@example.com";
  return {
    input: createWorkspaceInput(() => ({ email, role })),
    effect: ({ tenant: { workspaceId } }, actor) => ({
      added: {
        invitations: [{ workspace_id: workspaceId, email, role, invited_by: actor?.userId }],
        verifications: [{}],
        audit_events: [{ workspace_id: workspaceId, action: "invitation.created", ...actorColumns(actor) }],
      },
    }),
    shows: () => [email, "/invitation#"],
  };
}

function createOfferPlan(choose: (people: TenantFixture["people"]) => Person): Plan {
  return {
    input: createWorkspaceInput(({ people }) => ({ userId: choose(people).id })),
    effect({ people }, actor) {
      const { userId } = choose(people);
      return {
        added: {
          ownership_transfers: [{ from_user_id: actor?.userId, to_user_id: userId }],
          audit_events: [{ action: "ownership.offered", target_id: userId, ...actorColumns(actor) }],
        },
      };
    },
  };
}

function listOwnData({ tenant, otherTenant, people }: TenantFixture, caller: Caller): readonly string[] {
  if (caller === "nobody") return ['{"data":null}'];
  if (caller === "removed") return [people.removed.email];
  return caller === "stranger" ? [otherTenant.id, otherTenant.name] : [tenant.id, tenant.name];
}

function listOwnSession(actor: Actor): NonNullable<Effect["removed"]> {
  return actor ? { sessions: [{ user_id: actor.userId }] } : {};
}

function actorColumns(actor: Actor): object {
  return { actor_kind: "session", actor_user_id: actor?.userId, actor_key_id: null };
}

function createRoleChange(
  choose: (people: TenantFixture["people"]) => Person,
  { from, to }: { readonly from: string; readonly to: string },
): Plan {
  return {
    input: createWorkspaceInput(({ people }) => ({ userId: choose(people).id, role: to, version: 1 })),
    effect({ people }, actor) {
      const { userId } = choose(people);
      const change = { target_id: userId, before: { role: from }, after: { role: to } };
      return {
        removed: { members: [{ user_id: userId, role: from, version: 1 }] },
        added: {
          members: [{ user_id: userId, role: to, version: 2 }],
          audit_events: [{ action: "member.role-changed", ...change, ...actorColumns(actor) }],
          ...(userId !== actor?.userId && { notices: [{ user_id: userId, kind: "role-changed" }] }),
        },
      };
    },
  };
}

function createAccountDeletion({ tenant, people, ownersKey }: TenantFixture, actor: Actor): Effect {
  const hasInvited = actor === people.member;
  const user = { user_id: actor?.userId };
  const isMember = actor !== people.removed;
  const isOwner = actor === people.owner;
  return {
    removed: {
      users: [{ id: actor?.userId }],
      accounts: [user],
      sessions: [user],
      ...(isMember && { members: [user] }),
      ...(hasInvited && { invitations: [{ invited_by: actor.userId }], verifications: [{}] }),
      ...(isOwner && { api_keys: [{ id: ownersKey.keyId }], security_events: [user] }),
    },
    added: {
      former_users: [{ id: actor?.userId, name: actor?.email }],
      instance_events: [{ action: "user.deleted", actor_id: actor?.userId, target_user_email: actor?.email }],
      ...(isMember && {
        audit_events: [
          ...(hasInvited ? [{ action: "invitation.revoked", ...actorColumns(actor) }] : []),
          {
            workspace_id: tenant.workspaceId,
            action: "member.account-deleted",
            target_id: actor?.userId,
            ...actorColumns(actor),
          },
        ],
      }),
    },
  };
}

function createDeparture(): Plan {
  const { effect = () => ({}) } = createRemoval((_people, actor) => actor as Person); // The caller has a session.
  return { input: createWorkspaceInput(), effect };
}

function createRemoval(choose: (people: TenantFixture["people"], actor: Actor) => Person): Plan {
  return {
    input: createWorkspaceInput(({ people }, actor) => ({ userId: choose(people, actor).id })),
    effect({ people }, actor) {
      const { userId } = choose(people, actor);
      const event = { action: "member.removed", target_id: userId, ...actorColumns(actor) };
      return { removed: { members: [{ user_id: userId }] }, added: { audit_events: [event] } };
    },
  };
}

/** Plans of a procedure that reads the usage of a keyspace, or of one of its keys. */
function createUsagePlans(
  name: string,
  createInput: (fixture: TenantFixture, of: "tenant" | "otherTenant") => object,
  shows: NonNullable<Plan["shows"]>,
): Record<string, Plan> {
  const inputOf = (of: "tenant" | "otherTenant") =>
    createWorkspaceInput((fixture) => ({
      ...createInput(fixture, of),
      keyspaceId: fixture.keyspaces[of].id,
    }));
  return {
    [`keyspaceUsage.${name}`]: { input: inputOf("tenant"), shows },
    [`keyspaceUsage.${name}, a foreign one`]: { input: inputOf("otherTenant") },
  };
}

let app: TestApp;

beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

interface Procedure {
  readonly _def: { readonly type: "query" | "mutation"; readonly inputs: readonly { shape?: object }[] };
}

const procedures = router._def.procedures as unknown as Readonly<Record<string, Procedure>>; // Procedures by path.

test("the table and the plans cover every procedure, and nothing else", () => {
  expect(new Set(table.map(({ target }) => target))).toEqual(new Set(Object.keys(procedures)));
  expect(Object.keys(plans)).toEqual(table.map(({ name }) => name));
});

function getProcedure(path: string): Procedure["_def"] {
  const procedure = procedures[path];
  if (!procedure) throw new Error(`There is no procedure ${path}.`);
  return procedure._def;
}

/** Formats an HTTP/1.0 request, so that the response isn't chunked. Queries have their input in the URL. */
function formatRequest(
  path: string,
  { input, cookie }: { readonly input?: unknown; readonly cookie: string },
): string {
  const isQuery = getProcedure(path).type === "query";
  const body = isQuery ? "" : JSON.stringify(input ?? null);
  const query = isQuery && input !== undefined ? `?input=${encodeURIComponent(JSON.stringify(input))}` : "";
  const lines = [
    `${isQuery ? "GET" : "POST"} /trpc/${path}${query} HTTP/1.0`,
    "Host: localhost",
    ...(cookie ? [`Cookie: ${cookie}`] : []),
    ...(isQuery ? [] : ["Content-Type: application/json", `Content-Length: ${Buffer.byteLength(body)}`]),
    "Connection: close",
  ];
  return `${lines.join("\r\n")}\r\n\r\n${body}`;
}

async function openSession(person: Actor): Promise<string> {
  if (!person) return "";
  const { cookies } = await app.services.sessions.open(person.userId, {
    headers: new Headers(),
    address: null,
  });
  return cookies[0]?.split(";")[0] ?? "";
}

describe.each(table)("$name", ({ target, name, results }) => {
  test.each(callers)("called by %s", async (caller) => {
    const fixture = await prepareFixture(app);
    const plan = plans[name] ?? {};
    const actor = caller === "nobody" ? undefined : fixture.people[caller];
    const input = plan.input?.(fixture, actor);
    const cookie = await openSession(actor);
    if (plan.hasTransfer) await addOwnershipTransfer(app, fixture);

    const { result, before, after } = await observe(app.owner, () =>
      sendRaw(app.baseUrl, formatRequest(target, { input, cookie })),
    );

    const { result: answer, error } = JSON.parse(result.body);
    const code: ErrorCode | "ok" = answer ? "ok" : error.data.code;
    expect(code).toBe(results[caller]);
    expect(result.status).toBe(code === "ok" ? 200 : errorCatalog[code].status);
    expectEffect({ before, after }, (code === "ok" && plan.effect?.(fixture, actor)) || {});
    if (code === "ok")
      for (const shown of plan.shows?.(fixture, caller) ?? []) expect(result.body).toContain(shown);
    const hiddenText = [...listHiddenText(caller, fixture, plan), ...(plan.hides?.(fixture, caller) ?? [])];
    for (const hidden of hiddenText) expect(result.body).not.toContain(hidden);
    // A rejected call neither starts nor ends a session.
    if (code !== "ok") expect(result.head).not.toMatch(/^set-cookie:/im);
  });
});

/** Returns the whole response without its date and request ID. */
function removeVariableParts({ head, body }: { readonly head: string; readonly body: string }): string {
  const lines = head.split("\r\n").filter((line) => !/^(date|x-request-id):/i.test(line));
  return [...lines, "", body.replace(/"requestId":"[^"]+"/, '"requestId":""')].join("\r\n");
}

const workspaceProcedures = Object.keys(procedures).filter((path) =>
  getProcedure(path).inputs.some(({ shape }) => shape && "workspaceId" in shape),
);

test("a viewer changes nothing in a workspace, and a member only what they created", () => {
  // The tests above make these calls and compare all rows. Keys of service accounts are named without the workspace.
  const changes = table.filter(
    ({ target, name }) =>
      getProcedure(target).type === "mutation" &&
      (workspaceProcedures.includes(target) || name.endsWith(", a service")),
  );
  const listAllowed = (caller: Caller) =>
    changes.flatMap(({ name, results }) => (results[caller] === "ok" ? [name] : []));
  expect(listAllowed("viewer")).toEqual(["members.leave", "members.remove, oneself"]);
  expect(listAllowed("member")).toEqual([
    "members.leave",
    "members.remove, oneself",
    // Ownership is offered to the member.
    "ownership.accept",
    "ownership.end",
    "invitations.create",
    "invitations.resend, of the member",
    "invitations.revoke, of the member",
    // It changes the counters of keys, which are not rows that a member owns.
    "issuedKeys.verify",
    "issuedKeys.verify, a foreign one",
    "issuedKeys.verify, of another keyspace",
  ]);
});

test.each(workspaceProcedures)(
  "%s rejects a foreign workspace, an unknown ID and an insufficient role identically",
  async (path) => {
    const fixture = await prepareFixture(app);
    const { tenant, otherTenant, people } = fixture;
    if (plans[path]?.hasTransfer) await addOwnershipTransfer(app, fixture);
    const sendAs = async (workspaceId: string, person: Person): Promise<string> => {
      const input = { ...plans[path]?.input?.(fixture, person), workspaceId };
      const cookie = await openSession(person);
      return removeVariableParts(await sendRaw(app.baseUrl, formatRequest(path, { input, cookie })));
    };
    const foreign = await sendAs(otherTenant.id, people.owner);
    expect(foreign).toMatch(/^HTTP\/1\.1 403 /);
    expect(await sendAs("ws_01h455vb4pex5vsknk084sn02q", people.owner)).toBe(foreign);
    expect(await sendAs(tenant.id, people.stranger)).toBe(foreign);
    expect(await sendAs(tenant.id, people.removed)).toBe(foreign);
    const row = table.find(({ name }) => name === path);
    if (row?.results.viewer === "FORBIDDEN") expect(await sendAs(tenant.id, people.viewer)).toBe(foreign);
    // A malformed ID is a bug of the web app. The response is the same for every caller.
    const malformed = await sendAs("nonsense", people.owner);
    expect(malformed).toMatch(/^HTTP\/1\.1 400 /);
    expect(await sendAs("nonsense", people.stranger)).toBe(malformed);
  },
);

test("a stranger gets FORBIDDEN from exactly the procedures that take a workspace", () => {
  const forbiddenProcedures = table
    .filter(({ results }) => results.stranger === "FORBIDDEN")
    .map(({ target }) => target);
  expect(new Set(workspaceProcedures)).toEqual(new Set(forbiddenProcedures));
});

const mutations = Object.keys(procedures).filter(
  (path) => getProcedure(path).type === "mutation" && plans[path]?.input,
);

test.each(mutations)("%s rejects unknown fields and changes nothing", async (path) => {
  const fixture = await prepareFixture(app);
  const { owner, stranger } = fixture.people;
  const cookie = await openSession(path.startsWith("operator.") ? fixture.operator : owner);
  const input = plans[path]?.input?.(fixture, owner) ?? {};
  const unknown = {
    userId: stranger.id,
    workspaceId: fixture.otherTenant.id,
    role: "owner",
    id: encodeId("user", stranger.userId),
    keyHash: "0",
    isOperator: true,
  };
  for (const [name, value] of Object.entries(unknown).filter(([member]) => !(member in input))) {
    const { result, before, after } = await observe(app.owner, () =>
      sendRaw(app.baseUrl, formatRequest(path, { input: { ...input, [name]: value }, cookie })),
    );
    const { error } = JSON.parse(result.body);
    expect([result.status, error.data.issues]).toEqual([
      400,
      [{ path: name, code: "unknown_member", message: "Unknown field" }],
    ]);
    expectEffect({ before, after }, {});
  }
});

describe("recent authentication", () => {
  const mutations = Object.keys(procedures).filter((path) => getProcedure(path).type === "mutation");
  const sometimes = Object.entries(sometimesRequired);
  const fixedCases = new Map<string, boolean>([
    ...alwaysRequired.map((path) => [path, true] as const),
    ...neverRequired.map((path) => [path, false] as const),
  ]);

  test("is decided for each procedure that changes something, once", () => {
    const decided = [...fixedCases.keys(), ...requiredElsewhere, ...sometimes.map(([path]) => path)];
    expect(decided.toSorted()).toEqual(mutations.toSorted());
  });

  /** Whether a call in a session whose user authenticated long ago asks to authenticate again. */
  async function isAsked(
    path: string,
    { input, caller = "owner", prepare }: Partial<Case>,
  ): Promise<boolean> {
    const fixture = await prepareFixture(app);
    const plan = plans[path] ?? {};
    const actor = fixture.people[caller];
    const cookie = await openSession(actor);
    if (plan.hasTransfer) await addOwnershipTransfer(app, fixture);
    await sql`update users set is_operator = true where id = ${fixture.people.owner.userId}`.execute(
      app.owner,
    );
    await sql`update sessions set authenticated_at = to_timestamp(0)`.execute(app.owner);
    if (prepare) await sql.raw(prepare).execute(app.owner);
    const sent = input ? { ...plan.input?.(fixture, actor), ...input } : plan.input?.(fixture, actor);
    const { body } = await sendRaw(app.baseUrl, formatRequest(path, { input: sent, cookie }));
    const issues: readonly { readonly code: string }[] = JSON.parse(body).error?.data.issues ?? [];
    return issues.some(({ code }) => code === "reauthentication_required");
  }

  test.each([...fixedCases])("%s: %s", async (path, isRequired) => {
    expect(await isAsked(path, {})).toBe(isRequired);
  });

  test.each(sometimes.flatMap(([path, cases]) => cases.map((each) => [path, each] as const)))(
    "%s: %j",
    async (path, each) => {
      expect(await isAsked(path, each)).toBe(each.isRequired);
    },
  );

  test("is never required from an API key or the command", () => {
    const request = { address: null, requestId: null };
    const userId = createId("user");
    const key = { kind: "key", userId, keyId: createId("key"), digest: "" } as const;
    expect(() => requireRecentAuthentication({ actor: key, ...request })).not.toThrow();
    expect(() => requireRecentAuthentication({ actor: { kind: "command" }, ...request })).not.toThrow();
    const session = { kind: "session", userId } as const;
    const isRecentlyAuthenticated = false;
    expect(() =>
      requireRecentAuthentication({ actor: { ...session, isRecentlyAuthenticated }, ...request }),
    ).toThrow("Confirm that it’s you");
  });
});
