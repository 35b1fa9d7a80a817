import { MutationCache, QueryCache, QueryClient, type QueryKey } from "@tanstack/react-query";
import { describeFailure } from "./failure.ts";
import { ReachabilityMonitor } from "./reachability.ts";

declare module "@tanstack/react-query" {
  interface Register {
    mutationMeta: {
      /** The form shows `UNAUTHORIZED` itself, because to it that means a wrong password. */
      readonly isSignIn?: boolean;
    };
  }
}

const retriesAtMost = 2;
const retryableCodes: ReadonlySet<string> = new Set(["NO_ANSWER", "SERVICE_UNAVAILABLE"]);

type SessionEndedListener = () => void;
const sessionEndedListeners = new Set<SessionEndedListener>();

/** Calls `listener` whenever a call is refused because the session is over; answers how to stop that. */
export function onSessionEnded(listener: SessionEndedListener): () => void {
  sessionEndedListeners.add(listener);
  return () => sessionEndedListeners.delete(listener);
}

/** Loads again what failed because the server didn't answer, once it does. */
export const reachability = new ReachabilityMonitor({
  probe: async () => (await fetch("/readyz", { cache: "no-store" })).status,
  onBack: () =>
    void queryClient.refetchQueries({
      type: "active",
      predicate: ({ state }) =>
        state.status === "error" && retryableCodes.has(describeFailure(state.error).code),
    }),
});

function reportIfUnanswered(error: unknown): void {
  if (retryableCodes.has(describeFailure(error).code)) reachability.reportFailure();
}

function reportIfSessionEnded(error: unknown): void {
  if (describeFailure(error).code !== "UNAUTHORIZED") return;
  for (const listener of sessionEndedListeners) listener();
}

/** Removes all that was loaded for whoever was here; what is true of the instance stays. */
export function forgetVisitor(): void {
  queryClient.removeQueries({ predicate: ({ queryKey }) => !isOfInstance(queryKey) });
}

/** A key of tRPC begins with the path of the procedure. */
function isOfInstance([path]: QueryKey): boolean {
  return Array.isArray(path) && path[0] === "instance";
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error) => {
      reportIfSessionEnded(error);
      reportIfUnanswered(error);
    },
  }),
  mutationCache: new MutationCache({
    onError: (error, _variables, _result, mutation) => {
      if (!mutation.meta?.isSignIn) reportIfSessionEnded(error);
      reportIfUnanswered(error);
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 1_000,
      retry: (failures, error) => failures < retriesAtMost && retryableCodes.has(describeFailure(error).code),
    },
    // Offline, a mutation fails at once with words rather than waiting for the network unseen.
    mutations: { networkMode: "always" },
  },
});
