import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { describeFailure, type Failure } from "../../server/failure.ts";
import { replaceData } from "../../server/replace-data.ts";
import { type IssuedKey, trpc } from "../../server/trpc.ts";

interface DisablingChange {
  readonly setDisabled: (isDisabled: boolean) => void;
  readonly isSaving: boolean;
  readonly failure: Failure | undefined;
  /** Clears the failure. */
  readonly reset: () => void;
}

/** Disables or enables a key. */
export function useIssuedKeyDisabling(
  workspaceId: string,
  { id, keyspaceId, version }: IssuedKey,
  onSaved: () => void,
): DisablingChange {
  const queryClient = useQueryClient();
  const path = { workspaceId, keyspaceId, id };
  const update = useMutation(
    trpc.issuedKeys.update.mutationOptions({
      onSuccess: async (key) => {
        await replaceData(queryClient, trpc.issuedKeys.get.queryKey(path), key);
        void queryClient.invalidateQueries({ queryKey: trpc.issuedKeys.list.pathKey() });
        onSaved();
        notifications.show({ message: key.isDisabled ? "Key disabled." : "Key enabled." });
      },
      // After a conflict, trying again is based on the current version.
      onError: () => queryClient.invalidateQueries({ queryKey: trpc.issuedKeys.get.pathKey() }),
    }),
  );
  const failure = update.error ? describeFailure(update.error) : undefined;
  return {
    setDisabled: (isDisabled) => {
      if (!update.isPending) update.mutate({ ...path, version, changes: { isDisabled } });
    },
    isSaving: update.isPending,
    failure:
      failure?.code === "PRECONDITION_FAILED"
        ? { ...failure, message: "Someone changed the key at the same time. Try again." }
        : failure,
    reset: update.reset,
  };
}
