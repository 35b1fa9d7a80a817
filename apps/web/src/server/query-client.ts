import { MutationCache, type Query, QueryCache, QueryClient, type QueryKey } from "@tanstack/react-query";
import { describeFailure } from "./failure.ts";
import { ReachabilityMonitor } from "./reachability.ts";

declare module "@tanstack/react-query" {
  interface Register {
    mutationMeta: {
      /**
       * Whether the form handles `UNAUTHORIZED` itself, because for sign-in it means a wrong
       * password.
       */
      readonly isSignIn?: boolean;
    };
  }
}

const maxRetries = 2;
const retryableCodes: ReadonlySet<string> = new Set(["NO_ANSWER", "SERVICE_UNAVAILABLE"]);

type SessionEndedListener = () => void;
const sessionEndedListeners = new Set<SessionEndedListener>();

/**
 * Calls `listener` when a call is rejected because the session ended. Returns a function that
 * unsubscribes it.
 */
export function onSessionEnded(listener: SessionEndedListener): () => void {
  sessionEndedListeners.add(listener);
  return () => sessionEndedListeners.delete(listener);
}

type RecoveryListener = () => void;
const recoveryListeners = new Set<RecoveryListener>();

/** Calls `listener` when the server is ready again. Returns a function that unsubscribes it. */
export function onRecovered(listener: RecoveryListener): () => void {
  recoveryListeners.add(listener);
  return () => recoveryListeners.delete(listener);
}

/**
 * When the server responds again, refetches the queries that failed because it didn't respond or
 * was unavailable.
 */
export const reachability = new ReachabilityMonitor({
  probe: async (signal) => (await fetch("/readyz", { cache: "no-store", signal })).status,
  onRecovered: () => {
    void queryClient.refetchQueries({
      type: "active",
      predicate: ({ state }) => state.status === "error" && isUnanswered(state.error),
    });
    for (const listener of recoveryListeners) listener();
  },
});

/** Whether a call failed because the server didn't respond or was unavailable. */
export function isUnanswered(error: unknown): boolean {
  return retryableCodes.has(describeFailure(error).code);
}

function reportIfUnanswered(error: unknown): void {
  if (isUnanswered(error)) reachability.reportFailure();
}

function reportIfSessionEnded(error: unknown): void {
  if (describeFailure(error).code !== "UNAUTHORIZED") return;
  for (const listener of sessionEndedListeners) listener();
}

/** The path of the procedure that loads a workspace. If it fails, a notice replaces the pages of the workspace. */
const workspacePath = ["workspaces", "get"];

/**
 * Loads the workspace again if a call was forbidden. The user was removed from the workspace or given another role, or the workspace
 * was deleted, is now disabled, or now requires a second factor. If loading it fails too, a notice replaces the open page.
 */
function reloadIfForbidden(error: unknown): void {
  if (!isForbidden(error)) return;
  // If loading the workspace was forbidden before, its pages are closed. Loading it again could open them for a moment, and their
  // calls, forbidden as well, would load it again endlessly.
  const predicate = ({ state }: Query) => !isForbidden(state.error);
  // Concurrent calls share one reload.
  void queryClient.invalidateQueries({ queryKey: [workspacePath], predicate }, { cancelRefetch: false });
}

function isForbidden(error: unknown): boolean {
  return describeFailure(error).code === "FORBIDDEN";
}

/** Removes the cached data of the user. The data of the instance stays. */
export function clearUserQueries(): void {
  queryClient.removeQueries({ predicate: ({ queryKey }) => !isInstanceQuery(queryKey) });
}

/** A query key of tRPC begins with the path of the procedure. */
function isInstanceQuery([path]: QueryKey): boolean {
  return Array.isArray(path) && path[0] === "instance";
}

/** How long what a loader requested counts as fresh while the scripts of the page load, in milliseconds. */
const prefetchedFreshMs = 10_000;

/** The queries whose data a component has stopped showing. */
const formerlyShown = new WeakSet<Query>();

/**
 * Whether a component that begins to show a query requests its data again. What a loader requested is older than
 * `staleTime` if the scripts of the page take long to load, and each query would be sent twice.
 */
function refetchesOnMount(query: Query): boolean {
  const { isInvalidated, dataUpdatedAt } = query.state;
  return isInvalidated || formerlyShown.has(query) || Date.now() - dataUpdatedAt > prefetchedFreshMs;
}

export const queryClient = new QueryClient({
  queryCache: new QueryCache({
    onError: (error, query) => {
      reportIfSessionEnded(error);
      reportIfUnanswered(error);
      // If the workspace can't be loaded, loading it again would repeat this failure endlessly.
      if (String(query.queryKey[0]) !== String(workspacePath)) reloadIfForbidden(error);
    },
  }),
  mutationCache: new MutationCache({
    onError: (error, _variables, _result, mutation) => {
      if (!mutation.meta?.isSignIn) reportIfSessionEnded(error);
      reportIfUnanswered(error);
      reloadIfForbidden(error);
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 1_000,
      refetchOnMount: refetchesOnMount,
      retry: (failures, error) => failures < maxRetries && isUnanswered(error),
    },
    mutations: {
      // Offline, a mutation fails immediately with a message. By default, it would wait for the
      // network without one.
      networkMode: "always",
      // Passwords, codes and secrets are variables and responses of mutations. By default, the cache would keep them for
      // five minutes after their form was closed.
      gcTime: 0,
    },
  },
});

queryClient.getQueryCache().subscribe(({ type, query }) => {
  if (type === "observerRemoved") formerlyShown.add(query);
});
