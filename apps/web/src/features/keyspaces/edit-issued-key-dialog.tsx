import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { type IssuedKey, trpc } from "../../server/trpc.ts";
import { useConflict } from "../../server/use-conflict.tsx";
import { describeExactly } from "../../ui/elapsed.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { describeCredits } from "./credits-values.ts";
import { IssuedKeyForm } from "./issued-key-form.tsx";
import { changesOfKey, fieldsOfKey, valuesOfKey } from "./issued-key-values.ts";
import { describeNamedLimit } from "./limit-values.ts";
import { refreshKeys } from "./refresh-keys.ts";

interface EditIssuedKeyDialogProps {
  readonly workspaceId: string;
  readonly issuedKey: IssuedKey;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function EditIssuedKeyDialog(props: EditIssuedKeyDialogProps): ReactElement {
  const { isOpen, onClose } = props;
  const isSaving = useIsMutating({ mutationKey: trpc.issuedKeys.update.mutationKey() }) > 0;
  return (
    <FormDialog isOpen={isOpen} isBusy={isSaving} title="Edit key" size={560} onClose={onClose}>
      <Form {...props} />
    </FormDialog>
  );
}

/** Saves only if the key still has the version that the user saw. */
function Form({ workspaceId, issuedKey, onClose }: EditIssuedKeyDialogProps): ReactElement {
  const queryClient = useQueryClient();
  const path = { workspaceId, keyspaceId: issuedKey.keyspaceId, id: issuedKey.id };
  const { base, notice, clear, onError, omitReported } = useConflict({
    noun: "key",
    item: issuedKey,
    load: () => queryClient.fetchQuery(trpc.issuedKeys.get.queryOptions(path, { staleTime: 0 })),
    describe: (key) => ({
      Name: key.name,
      "External ID": key.externalId ?? "",
      Permissions: key.permissions.join("\n"),
      Expires: key.expiresAt === null ? "Never expires" : describeExactly(new Date(key.expiresAt)),
      "IP ranges": key.ipRanges?.join("\n") ?? "Any IP address",
      "Rate limits": key.limits.map(describeNamedLimit).join("\n"),
      Credits: key.credits ? describeCredits(key.credits) : "Unlimited",
      Metadata: JSON.stringify(key.meta),
    }),
  });
  const update = useMutation(
    trpc.issuedKeys.update.mutationOptions({
      onSuccess: async () => {
        await refreshKeys();
        onClose();
        notifications.show({ message: "Key saved." });
      },
      onError,
    }),
  );
  const initialValues = valuesOfKey(base);
  return (
    <IssuedKeyForm
      initialValues={initialValues}
      expiresAt={base.expiresAt}
      action="Save"
      error={omitReported(update.error)}
      notice={notice}
      isBusy={update.isPending}
      onSubmit={(fields) => {
        const changes = changesOfKey(fieldsOfKey(initialValues), fields);
        if (Object.keys(changes).length === 0) return onClose();
        clear();
        update.mutate({ ...path, version: base.version, changes });
      }}
      onCancel={onClose}
    />
  );
}
