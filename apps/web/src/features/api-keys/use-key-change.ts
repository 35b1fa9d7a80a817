import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { describeFailure, type Failure } from "../../server/failure.ts";
import { type ApiKey, type KeySettings, trpc } from "../../server/trpc.ts";
import { describeWidening, type Widening } from "./restrictions/describe-restrictions.ts";

const app = getRouteApi("/app");

interface WantedChange {
  /** What the change is made from. */
  readonly base: ApiKey;
  readonly settings: KeySettings;
  readonly onSaved: () => void;
  /** Hears of what failed, other than for want of a confirmation. */
  readonly onFailed?: (error: unknown, code: Failure["code"]) => void;
}

interface KeyChange {
  readonly change: (wanted: WantedChange) => void;
  readonly isSaving: boolean;
  /** What failed, other than for want of a confirmation. */
  readonly failure: Failure | undefined;
  /** What the change would widen, while it waits to be confirmed. */
  readonly widened: readonly Widening[] | undefined;
  readonly confirm: () => void;
  readonly cancel: () => void;
  /** Says no more of what failed. */
  readonly forget: () => void;
}

/** Changes what a key is held to; what would widen it waits until that is confirmed. */
export function useKeyChange(): KeyChange {
  const queryClient = useQueryClient();
  const { workspaces } = app.useRouteContext().session;
  const [waiting, setWaiting] = useState<{ wanted: WantedChange; widened: readonly Widening[] }>();
  const save = useMutation(
    trpc.apiKeys.update.mutationOptions({
      onSuccess: (key) => {
        queryClient.setQueryData(trpc.apiKeys.get.queryKey({ id: key.id }), key);
        void queryClient.invalidateQueries({ queryKey: trpc.apiKeys.pathKey() });
      },
      onError: (error) => {
        const { code } = describeFailure(error);
        if (code !== "UNPROCESSABLE_CONTENT" && code !== "NO_ANSWER") setWaiting(undefined);
        if (code !== "NOT_FOUND" && code !== "PRECONDITION_FAILED") return;
        void queryClient.invalidateQueries({ queryKey: trpc.apiKeys.pathKey() });
      },
    }),
  );
  const send = (wanted: WantedChange, mayWiden: boolean) => {
    if (save.isPending) return;
    const { base, settings, onSaved } = wanted;
    save.mutate(
      { id: base.id, version: base.version, settings, mayWiden },
      {
        onSuccess: () => {
          setWaiting(undefined);
          onSaved();
        },
        onError: (error) => {
          const { code, issues } = describeFailure(error);
          if (code !== "UNPROCESSABLE_CONTENT") return wanted.onFailed?.(error, code);
          const names = issues.map(({ path }) => path);
          setWaiting({ wanted, widened: describeWidening(base, settings, { names, own: workspaces }) });
        },
      },
    );
  };
  const failure = save.error ? inWords(describeFailure(save.error)) : undefined;
  return {
    change: (wanted) => send(wanted, false),
    isSaving: save.isPending,
    failure: failure?.code === "UNPROCESSABLE_CONTENT" ? undefined : failure,
    widened: waiting?.widened,
    confirm: () => waiting && send(waiting.wanted, true),
    cancel: () => {
      setWaiting(undefined);
      save.reset();
    },
    forget: save.reset,
  };
}

function inWords(failure: Failure): Failure {
  if (failure.code !== "PRECONDITION_FAILED") return failure;
  return {
    ...failure,
    message: "Someone changed the key at the same time. Your changes weren’t saved. Try again.",
  };
}
