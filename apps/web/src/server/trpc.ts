import type { AppRouter } from "@latchkey/api/router";
import { createTRPCClient } from "@trpc/client";
import type { inferRouterInputs, inferRouterOutputs } from "@trpc/server";
import { createTRPCOptionsProxy } from "@trpc/tanstack-react-query";
import { createLinks } from "./links.ts";
import { queryClient } from "./query-client.ts";

/**
 * Calls procedures directly. Infinite lists need it: tRPC's options add a field that the API's
 * strict inputs reject.
 */
export const trpcClient = createTRPCClient<AppRouter>({ links: createLinks({ url: "/trpc" }) });

/** Query and mutation options for every procedure of the API. */
export const trpc = createTRPCOptionsProxy<AppRouter>({ client: trpcClient, queryClient });

type Outputs = inferRouterOutputs<AppRouter>;
type Inputs = inferRouterInputs<AppRouter>;

export type Session = NonNullable<Outputs["session"]["current"]>;
export type SessionWorkspace = Session["workspaces"][number];
export type ApiKey = Outputs["apiKeys"]["get"];
/** A key in a list, with the fields that only lists have. */
export type ListedApiKey = Outputs["apiKeys"]["list"]["items"][number];
export type ApiKeySummary = Outputs["apiKeys"]["summary"];
export type KeyRejection = Outputs["keyHistory"]["refusals"][number];
export type RequestExplanation = Outputs["keyHistory"]["explainRequest"][number];
export type RequestVerdict = Outputs["keyHistory"]["tryOut"];

/** The settings of a key, as a call sends them. */
export type KeySettings = NonNullable<Inputs["apiKeys"]["update"]["settings"]>;
export type TriedRequest = Inputs["keyHistory"]["tryOut"];

export type Role = SessionWorkspace["role"];
export type PermissionRow = Outputs["instance"]["permissions"][number];
export type Permission = PermissionRow["name"];
export type Workspace = Outputs["workspaces"]["get"];
export type Member = Outputs["members"]["list"]["items"][number];
/** A member that is not a person. */
export type ServiceAccount = Outputs["serviceAccounts"]["get"];
/** A key of a member who is to be removed or given another role. */
export type AffectedKey = Outputs["offboarding"]["preview"]["keys"][number];
/** What a rotation of several issued keys did, with the new secrets. */
export type BulkRotation = Outputs["issuedKeyBulk"]["rotate"];
/** A service account that replaces keys of a member, with the new secrets. */
export type Replacement = Outputs["offboarding"]["replaceKeys"];
export type Invitation = Outputs["invitations"]["list"]["items"][number];
/** An invitation that was just sent, with its link. */
export type SentInvitation = Outputs["invitations"]["create"];
export type InvitationPreview = Outputs["invitations"]["preview"];
export type Webhook = Outputs["webhooks"]["get"];
export type Keyspace = Outputs["keyspaces"]["get"];
/** The fields of a keyspace, as a call sends them. */
export type KeyspaceFields = Pick<
  Keyspace,
  | "name"
  | "prefix"
  | "environment"
  | "defaultLifetimeDays"
  | "defaultPermissions"
  | "defaultLimits"
  | "defaultCredits"
>;
export type IssuedKey = Outputs["issuedKeys"]["get"];
/** A consumer of the keys of a keyspace. */
export type Consumer = Outputs["consumers"]["get"];
/** The fields of an issued key in its form, as a call sends them: all that the API accepts, except `isDisabled`. */
export type IssuedKeyFields = Pick<
  IssuedKey,
  Exclude<keyof Inputs["issuedKeys"]["create"]["fields"], "isDisabled" | "expiresAt">
> &
  Pick<Inputs["issuedKeys"]["create"]["fields"], "expiresAt">;
/** An edit of an issued key, as a call sends it. */
export type IssuedKeyChanges = Inputs["issuedKeys"]["update"]["changes"];
/** A rejected verification of an issued key. */
export type IssuedKeyRejection = Outputs["keyspaceUsage"]["rejections"][number];
/** A change to an issued key. */
export type IssuedKeyChange = Outputs["issuedKeys"]["changes"][number];
/** The verifications of an issued key in the last 30 days. */
export type RecentUsage = Outputs["keyspaceUsage"]["recent"][number];
export type VerificationResult = Outputs["issuedKeys"]["verify"];
export type Delivery = Outputs["webhooks"]["deliveries"]["items"][number];
export type OwnershipTransfer = NonNullable<Outputs["ownership"]["get"]>;
/** What the deletion of the user's account does. */
export type AccountDeletion = Outputs["account"]["deletion"];
export type AuditEvent = Outputs["audit"]["list"]["items"][number];
/** A session in the list of its user. */
export type ListedSession = Outputs["account"]["sessions"][number];
/** The identity at the OpenID provider with which the user can sign in. */
export type LinkedIdentity = NonNullable<
  NonNullable<Outputs["account"]["signInMethods"]["openid"]>["identity"]
>;
/** Which second factors an account has. */
export type FactorKinds = Extract<Outputs["session"]["signIn"], { secondFactor: object }>["secondFactor"];
export type Passkey = Outputs["factors"]["get"]["passkeys"][number];
/** The secret of a new authenticator app. */
export type NewTotp = Outputs["factors"]["createTotp"];
/** A user as operators see them. */
export type UserOverview = Outputs["operator"]["users"]["items"][number];
/** A workspace as operators see it. */
export type WorkspaceOverview = Outputs["operator"]["workspaces"]["items"][number];
/** The state of the instance as operators see it. */
export type InstanceState = Outputs["operator"]["instance"];
export type InstanceEvent = Outputs["operator"]["log"]["items"][number];
export type SecurityEvent = Outputs["securityLog"]["list"]["items"][number];
export type Notice = Outputs["notices"]["list"]["items"][number];
export type NoticeSetting = Outputs["notices"]["settings"]["kinds"][number];
export type ApiKeyPolicy = Outputs["workspaceKeys"]["policy"];
export type PolicyPreview = Outputs["workspaceKeys"]["previewPolicy"];
export type PolicyChanges = Omit<
  Inputs["workspaceKeys"]["previewPolicy"],
  "workspaceId" | "requiresSecondFactor"
>;
export type RejectingWorkspace = Outputs["apiKeys"]["rejectingWorkspaces"][number];
export type ViolatedPolicy = Outputs["apiKeys"]["checkPolicies"][number];
export type WorkspaceKey = Outputs["workspaceKeys"]["list"]["items"][number];
export type OverviewKeys = Outputs["overview"]["keys"];
export type OverviewVerifications = NonNullable<Outputs["overview"]["verifications"]>;
export type BusiestOfKeyspace = Outputs["keyspaceUsage"]["busiest"];
