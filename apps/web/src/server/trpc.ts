import type { AppRouter } from "@latchkey/api/router";
import { createTRPCClient } from "@trpc/client";
import type { inferRouterInputs, inferRouterOutputs } from "@trpc/server";
import { createTRPCOptionsProxy } from "@trpc/tanstack-react-query";
import { createLinks } from "./links.ts";
import { queryClient } from "./query-client.ts";

/** Calls procedures by hand; pages of a list do, because tRPC would add what the API's strict inputs refuse. */
export const trpcClient = createTRPCClient<AppRouter>({ links: createLinks({ url: "/trpc" }) });

/** Query and mutation options for every procedure of the API. */
export const trpc = createTRPCOptionsProxy<AppRouter>({ client: trpcClient, queryClient });

type Outputs = inferRouterOutputs<AppRouter>;
type Inputs = inferRouterInputs<AppRouter>;

export type Session = NonNullable<Outputs["session"]["current"]>;
export type SessionWorkspace = Session["workspaces"][number];
export type ApiKey = Outputs["apiKeys"]["get"];
/** A key in a list, with what only the list tells. */
export type ListedApiKey = Outputs["apiKeys"]["list"]["items"][number];
export type ApiKeySummary = Outputs["apiKeys"]["summary"];
export type KeyRefusal = Outputs["keyHistory"]["refusals"][number];
export type RequestExplanation = Outputs["keyHistory"]["explainRequest"][number];
export type RequestVerdict = Outputs["keyHistory"]["tryOut"];

/** What is sent to hold a key to something. */
export type KeySettings = NonNullable<Inputs["apiKeys"]["update"]["settings"]>;
export type TriedRequest = Inputs["keyHistory"]["tryOut"];

export type Role = SessionWorkspace["role"];
export type PermissionRow = Outputs["instance"]["permissions"][number];
export type Permission = PermissionRow["name"];
export type Workspace = Outputs["workspaces"]["get"];
export type Member = Outputs["members"]["list"]["items"][number];
export type AuditEvent = Outputs["audit"]["list"]["items"][number];
export type SecurityEvent = Outputs["securityLog"]["list"]["items"][number];
export type WorkspaceKey = Outputs["workspaceKeys"]["list"]["items"][number];
export type OverviewKeys = Outputs["overview"]["keys"];
