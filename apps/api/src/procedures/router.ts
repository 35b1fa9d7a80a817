import { accountRouter } from "./account.ts";
import { apiKeysRouter } from "./api-keys.ts";
import { auditRouter } from "./audit.ts";
import { consumersRouter } from "./consumers.ts";
import { factorsRouter } from "./factors.ts";
import { instanceRouter } from "./instance.ts";
import { invitationsRouter } from "./invitations.ts";
import { issuedKeyBulkRouter } from "./issued-key-bulk.ts";
import { issuedKeyCreditsRouter } from "./issued-key-credits.ts";
import { issuedKeyImportRouter } from "./issued-key-import.ts";
import { issuedKeysRouter } from "./issued-keys.ts";
import { keyHistoryRouter } from "./key-history.ts";
import { keyspaceUsageRouter } from "./keyspace-usage.ts";
import { keyspacesRouter } from "./keyspaces.ts";
import { membersRouter } from "./members.ts";
import { noticesRouter } from "./notices.ts";
import { offboardingRouter } from "./offboarding.ts";
import { operatorRouter } from "./operator.ts";
import { overviewRouter } from "./overview.ts";
import { ownershipRouter } from "./ownership.ts";
import { securityLogRouter } from "./security-log.ts";
import { serviceAccountsRouter } from "./service-accounts.ts";
import { sessionRouter } from "./session.ts";
import { createRouter } from "./trpc.ts";
import { webhooksRouter } from "./webhooks.ts";
import { workspaceKeysRouter } from "./workspace-keys.ts";
import { workspacesRouter } from "./workspaces.ts";

/** The tRPC API of the web app, which imports only the type. */
export const router = createRouter({
  instance: instanceRouter,
  session: sessionRouter,
  account: accountRouter,
  factors: factorsRouter,
  apiKeys: apiKeysRouter,
  keyHistory: keyHistoryRouter,
  workspaces: workspacesRouter,
  members: membersRouter,
  offboarding: offboardingRouter,
  invitations: invitationsRouter,
  serviceAccounts: serviceAccountsRouter,
  ownership: ownershipRouter,
  audit: auditRouter,
  overview: overviewRouter,
  workspaceKeys: workspaceKeysRouter,
  issuedKeyImport: issuedKeyImportRouter,
  consumers: consumersRouter,
  issuedKeyBulk: issuedKeyBulkRouter,
  issuedKeyCredits: issuedKeyCreditsRouter,
  securityLog: securityLogRouter,
  webhooks: webhooksRouter,
  keyspaces: keyspacesRouter,
  issuedKeys: issuedKeysRouter,
  keyspaceUsage: keyspaceUsageRouter,
  notices: noticesRouter,
  operator: operatorRouter,
});

export type AppRouter = typeof router;
