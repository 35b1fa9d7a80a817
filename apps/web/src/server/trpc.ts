import type { AppRouter } from "@latchkey/api/router";
import { createTRPCClient, httpBatchLink } from "@trpc/client";
import type { inferRouterOutputs } from "@trpc/server";
import { createTRPCOptionsProxy } from "@trpc/tanstack-react-query";
import { queryClient } from "./query-client.ts";

/** Query and mutation options for every procedure of the API. */
export const trpc = createTRPCOptionsProxy<AppRouter>({
  client: createTRPCClient<AppRouter>({
    // The API refuses batches of more than ten calls.
    links: [httpBatchLink({ url: "/trpc", maxItems: 10 })],
  }),
  queryClient,
});

type Outputs = inferRouterOutputs<AppRouter>;

export type Session = NonNullable<Outputs["session"]["current"]>;
export type SessionWorkspace = Session["workspaces"][number];
export type ApiKey = Outputs["apiKeys"]["list"]["items"][number];
export type ApiKeySummary = Outputs["apiKeys"]["summary"];
