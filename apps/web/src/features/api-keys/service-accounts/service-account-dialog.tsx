import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { isResponseLost } from "../../../server/failure.ts";
import { roleTitles } from "../../../server/roles.ts";
import { type Role, type ServiceAccount, type SessionWorkspace, trpc } from "../../../server/trpc.ts";
import { useConflict } from "../../../server/use-conflict.tsx";
import { changedFields } from "../../../ui/changed-fields.ts";
import { FormDialog } from "../../../ui/form-dialog.tsx";
import { ServiceAccountForm } from "./service-account-form.tsx";

interface ServiceAccountDialogProps {
  readonly workspace: SessionWorkspace;
  readonly grantableRoles: readonly Role[];
  /** The service account to edit; undefined for a new one. */
  readonly account?: ServiceAccount | undefined;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onSaved?: (account: ServiceAccount) => void;
}

/** Creates a service account, or changes its name and role. */
export function ServiceAccountDialog(props: ServiceAccountDialogProps): ReactElement {
  const { account, isOpen, onClose } = props;
  const isCreating = useIsMutating({ mutationKey: trpc.serviceAccounts.create.mutationKey() }) > 0;
  const isChanging = useIsMutating({ mutationKey: trpc.serviceAccounts.change.mutationKey() }) > 0;
  return (
    <FormDialog
      isOpen={isOpen}
      isBusy={isCreating || isChanging}
      title={account ? "Edit service account" : "New service account"}
      size={480}
      onClose={onClose}
    >
      {account ? <EditForm {...props} account={account} /> : <NewForm {...props} />}
    </FormDialog>
  );
}

const newAccount = { name: "", role: "member" } as const;

function NewForm(props: ServiceAccountDialogProps): ReactElement {
  const { workspace, grantableRoles, onClose } = props;
  const queryClient = useQueryClient();
  const onSaved = useSaved(props);
  const create = useMutation(
    trpc.serviceAccounts.create.mutationOptions({
      // If the response was lost, the account may be in the list.
      onError: (error) => {
        if (isResponseLost(error))
          void queryClient.invalidateQueries({ queryKey: trpc.members.list.pathKey() });
      },
    }),
  );
  return (
    <ServiceAccountForm
      initialValues={newAccount}
      grantableRoles={grantableRoles}
      action="Create service account"
      error={create.error}
      lostResponse="The server didn’t respond. The service account may have been created. If it’s in the list of service accounts, use it, or delete it before you try again."
      isBusy={create.isPending}
      onSubmit={(values, markSaved) =>
        create.mutate(
          { workspaceId: workspace.id, ...values },
          {
            onSuccess: (saved) => {
              // Nothing asks before the page of the account opens.
              markSaved();
              onSaved(saved);
            },
          },
        )
      }
      onCancel={onClose}
    />
  );
}

interface EditFormProps extends ServiceAccountDialogProps {
  readonly account: ServiceAccount;
}

/** Saves only if the account still has the version that the user saw, and only the fields that the user changed. */
function EditForm(props: EditFormProps): ReactElement {
  const { workspace, grantableRoles, account, onClose } = props;
  const queryClient = useQueryClient();
  const onSaved = useSaved(props);
  const path = { workspaceId: workspace.id, userId: account.userId };
  const { base, notice, clear, onError, omitReported } = useConflict({
    noun: "service account",
    item: account,
    load: () => queryClient.fetchQuery(trpc.serviceAccounts.get.queryOptions(path, { staleTime: 0 })),
    describe: ({ name, role }) => ({ Name: name, Role: roleTitles[role] }),
  });
  const change = useMutation(trpc.serviceAccounts.change.mutationOptions({ onSuccess: onSaved, onError }));
  const initialValues = { name: base.name, role: base.role };
  return (
    <ServiceAccountForm
      initialValues={initialValues}
      grantableRoles={grantableRoles}
      action="Save"
      error={omitReported(change.error)}
      notice={notice}
      isBusy={change.isPending}
      onSubmit={(values) => {
        const changes = changedFields(initialValues, values);
        if (Object.keys(changes).length === 0) return onClose();
        clear();
        change.mutate({ ...path, version: base.version, ...changes });
      }}
      onCancel={onClose}
    />
  );
}

/** Shows the saved account, and closes the dialog. */
function useSaved({ workspace, onClose, onSaved }: ServiceAccountDialogProps) {
  const queryClient = useQueryClient();
  return (saved: ServiceAccount) => {
    const path = { workspaceId: workspace.id, userId: saved.userId };
    queryClient.setQueryData(trpc.serviceAccounts.get.queryKey(path), saved);
    void queryClient.invalidateQueries({ queryKey: trpc.members.list.pathKey() });
    onClose();
    onSaved?.(saved);
  };
}
