import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { type Keyspace, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { useConflict } from "../../server/use-conflict.tsx";
import { changedFields } from "../../ui/changed-fields.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { describeCredits } from "./credits-values.ts";
import { KeyspaceForm } from "./keyspace-form.tsx";
import { fieldsOfKeyspace, valuesOfKeyspace } from "./keyspace-values.ts";
import { describeNamedLimit } from "./limit-values.ts";

interface EditKeyspaceDialogProps {
  readonly workspace: SessionWorkspace;
  readonly keyspace: Keyspace;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function EditKeyspaceDialog(props: EditKeyspaceDialogProps): ReactElement {
  const { isOpen, onClose } = props;
  const isSaving = useIsMutating({ mutationKey: trpc.keyspaces.update.mutationKey() }) > 0;
  return (
    <FormDialog isOpen={isOpen} isBusy={isSaving} title="Edit keyspace" size={560} onClose={onClose}>
      <Form {...props} />
    </FormDialog>
  );
}

/** Saves only if the keyspace still has the version that the user saw. */
function Form({ workspace, keyspace, onClose }: EditKeyspaceDialogProps): ReactElement {
  const queryClient = useQueryClient();
  const path = { workspaceId: workspace.id, keyspaceId: keyspace.id };
  const { base, notice, clear, onError, omitReported } = useConflict({
    noun: "keyspace",
    item: keyspace,
    load: () => queryClient.fetchQuery(trpc.keyspaces.get.queryOptions(path, { staleTime: 0 })),
    describe: ({ name, prefix, environment, ...defaults }) => ({
      Name: name,
      Prefix: prefix,
      Environment: environment,
      "Lifetime in days": defaults.defaultLifetimeDays?.toString() ?? "Never expires",
      Permissions: defaults.defaultPermissions.join("\n"),
      "Rate limits": defaults.defaultLimits.map(describeNamedLimit).join("\n"),
      Credits: defaults.defaultCredits ? describeCredits(defaults.defaultCredits) : "Unlimited",
    }),
  });
  const update = useMutation(
    trpc.keyspaces.update.mutationOptions({
      onSuccess: async () => {
        await queryClient.invalidateQueries({ queryKey: trpc.keyspaces.pathKey() });
        onClose();
        notifications.show({ message: "Keyspace saved." });
      },
      onError,
    }),
  );
  const initialValues = valuesOfKeyspace(base);
  return (
    <KeyspaceForm
      initialValues={initialValues}
      action="Save"
      error={omitReported(update.error)}
      notice={notice}
      isBusy={update.isPending}
      onSubmit={(fields) => {
        const changes = changedFields(fieldsOfKeyspace(initialValues), fields);
        if (Object.keys(changes).length === 0) return onClose();
        clear();
        update.mutate({ ...path, version: base.version, changes });
      }}
      onCancel={onClose}
    />
  );
}
