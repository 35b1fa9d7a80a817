import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useMemo } from "react";
import { type SessionWorkspace, trpc } from "./trpc.ts";

interface SessionChanges {
  /** After a workspace was made: goes to its overview. */
  readonly enter: (workspace: SessionWorkspace) => Promise<void>;
  /** After its name or the person's role in it changed: shows so everywhere. */
  readonly change: (id: string, facts: Partial<Pick<SessionWorkspace, "name" | "role">>) => Promise<void>;
  /** After it was deleted or left: forgets all of it, and goes home. */
  readonly leave: (id: string) => Promise<void>;
}

/**
 * Brings what the pages know of the session up to date with what the API has confirmed about its workspaces. That
 * needs no further call, which could fail where the change did not.
 */
export function useSessionChanges(): SessionChanges {
  const router = useRouter();
  const queryClient = useQueryClient();
  return useMemo(() => {
    const update = (next: (workspaces: readonly SessionWorkspace[]) => SessionWorkspace[]) =>
      queryClient.setQueryData(
        trpc.session.current.queryKey(),
        (session) => session && { ...session, workspaces: next(session.workspaces) },
      );
    return {
      async enter(workspace) {
        update((workspaces) => [...workspaces.filter(({ id }) => id !== workspace.id), workspace]);
        await router.navigate({ to: "/w/$slug", params: { slug: workspace.slug } });
      },
      async change(id, facts) {
        update((workspaces) =>
          workspaces.map((workspace) => (workspace.id === id ? { ...workspace, ...facts } : workspace)),
        );
        await router.invalidate();
      },
      async leave(id) {
        update((workspaces) => workspaces.filter((workspace) => workspace.id !== id));
        await router.navigate({ to: "/", replace: true });
        queryClient.removeQueries({ predicate: ({ queryKey }) => isAbout(queryKey, id) });
      },
    };
  }, [router, queryClient]);
}

/** A key of tRPC ends with the input of the procedure. */
function isAbout(queryKey: readonly unknown[], workspaceId: string): boolean {
  const [, facts] = queryKey as readonly [unknown, { readonly input?: { readonly workspaceId?: string } }?]; // As tRPC makes it.
  return facts?.input?.workspaceId === workspaceId;
}
