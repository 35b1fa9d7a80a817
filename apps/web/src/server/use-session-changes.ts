import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useMemo } from "react";
import { type SessionWorkspace, trpc } from "./trpc.ts";

interface SessionChanges {
  /** Adds a workspace that was created, and opens its overview. */
  readonly add: (workspace: SessionWorkspace) => Promise<void>;
  /** Updates what the pages show of a workspace and the user's role in it. */
  readonly update: (
    id: string,
    changes: Partial<Pick<SessionWorkspace, "name" | "role" | "isDisabled">>,
  ) => Promise<void>;
  /**
   * Removes a workspace that was deleted or left, discards its cached data, and opens the start
   * page.
   */
  readonly remove: (id: string) => Promise<void>;
}

/**
 * Applies changes to workspaces that the API has confirmed to the cached session. Another call
 * could fail even though the change succeeded.
 */
export function useSessionChanges(): SessionChanges {
  const router = useRouter();
  const queryClient = useQueryClient();
  return useMemo(() => {
    const updateWorkspaces = (next: (workspaces: readonly SessionWorkspace[]) => SessionWorkspace[]) =>
      queryClient.setQueryData(
        trpc.session.current.queryKey(),
        (session) => session && { ...session, workspaces: next(session.workspaces) },
      );
    return {
      async add(workspace) {
        updateWorkspaces((workspaces) => [...workspaces.filter(({ id }) => id !== workspace.id), workspace]);
        await router.navigate({ to: "/w/$slug", params: { slug: workspace.slug } });
      },
      async update(id, changes) {
        updateWorkspaces((workspaces) =>
          workspaces.map((workspace) => (workspace.id === id ? { ...workspace, ...changes } : workspace)),
        );
        await router.invalidate();
      },
      async remove(id) {
        updateWorkspaces((workspaces) => workspaces.filter((workspace) => workspace.id !== id));
        // Input on the pages of the workspace can no longer be saved.
        await router.navigate({ to: "/", replace: true, ignoreBlocker: true });
        queryClient.removeQueries({ predicate: ({ queryKey }) => isForWorkspace(queryKey, id) });
      },
    };
  }, [router, queryClient]);
}

/** A query key of tRPC ends with the input of the procedure. */
function isForWorkspace(queryKey: readonly unknown[], workspaceId: string): boolean {
  const [, options] = queryKey as readonly [unknown, { readonly input?: { readonly workspaceId?: string } }?]; // tRPC's format.
  return options?.input?.workspaceId === workspaceId;
}
