import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { describeFailure, type Failure } from "../../server/failure.ts";
import { type ApiKey, type KeySettings, trpc } from "../../server/trpc.ts";
import { describeExpansions, type Expansion } from "./restrictions/describe-restrictions.ts";

const app = getRouteApi("/app");

interface RequestedChange {
  /** The key with the version that the change is based on. */
  readonly base: ApiKey;
  readonly settings: KeySettings;
  /** Whether the user has already agreed to a change that expands access. */
  readonly isConfirmed?: boolean;
  readonly onSaved: () => void;
  /** Called with an error, except if the API only requires a confirmation. */
  readonly onFailed?: (error: unknown) => void;
}

interface KeyChange {
  readonly change: (requested: RequestedChange) => void;
  readonly isSaving: boolean;
  /** The last failure. Undefined if the API only requires a confirmation. */
  readonly failure: Failure | undefined;
  /** How the change would expand access, while it waits for a confirmation. */
  readonly expansions: readonly Expansion[] | undefined;
  readonly confirm: () => void;
  readonly cancel: () => void;
  /** Clears the failure. */
  readonly reset: () => void;
}

/**
 * Changes the settings of a key. A change that expands access waits for a confirmation and is then
 * sent again.
 */
export function useKeyChange(): KeyChange {
  const queryClient = useQueryClient();
  const { workspaces } = app.useRouteContext().session;
  const [pending, setPending] = useState<{ requested: RequestedChange; expansions: readonly Expansion[] }>();
  const save = useMutation(
    trpc.apiKeys.update.mutationOptions({
      onSuccess: (key) => {
        queryClient.setQueryData(trpc.apiKeys.get.queryKey({ id: key.id }), key);
        void queryClient.invalidateQueries({ queryKey: trpc.apiKeys.pathKey() });
      },
      onError: (error) => {
        const { code } = describeFailure(error);
        if (code !== "UNPROCESSABLE_CONTENT" && code !== "NO_ANSWER") setPending(undefined);
        if (code !== "NOT_FOUND" && code !== "PRECONDITION_FAILED") return;
        void queryClient.invalidateQueries({ queryKey: trpc.apiKeys.pathKey() });
      },
    }),
  );
  const send = (requested: RequestedChange, isConfirmed: boolean) => {
    if (save.isPending) return;
    const { base, settings, onSaved } = requested;
    save.mutate(
      { id: base.id, version: base.version, settings, mayWiden: isConfirmed },
      {
        onSuccess: () => {
          setPending(undefined);
          onSaved();
        },
        onError: (error) => {
          const { code, issues } = describeFailure(error);
          if (code !== "UNPROCESSABLE_CONTENT") return requested.onFailed?.(error);
          const names = issues.map(({ path }) => path);
          setPending({ requested, expansions: describeExpansions(base, settings, { names, workspaces }) });
        },
      },
    );
  };
  const failure = save.error ? describeConflict(describeFailure(save.error)) : undefined;
  return {
    change: (requested) => send(requested, requested.isConfirmed ?? false),
    isSaving: save.isPending,
    failure: failure?.code === "UNPROCESSABLE_CONTENT" ? undefined : failure,
    expansions: pending?.expansions,
    confirm: () => pending && send(pending.requested, true),
    cancel: () => {
      setPending(undefined);
      save.reset();
    },
    reset: save.reset,
  };
}

function describeConflict(failure: Failure): Failure {
  if (failure.code !== "PRECONDITION_FAILED") return failure;
  return {
    ...failure,
    message: "Someone changed the key at the same time. Your changes weren’t saved. Try again.",
  };
}
