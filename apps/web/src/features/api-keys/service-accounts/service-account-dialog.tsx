import { maxLength } from "@latchkey/limits";
import { TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../../server/failure.ts";
import { RoleSelect } from "../../../server/role-select.tsx";
import { hasIssueOf, showIssues } from "../../../server/show-issues.ts";
import { type Role, type ServiceAccount, type SessionWorkspace, trpc } from "../../../server/trpc.ts";
import { collapseSpaces } from "../../../ui/collapse-spaces.ts";
import { describeLengthError } from "../../../ui/describe-length-error.ts";
import classes from "../../../ui/dialog.module.css";
import { focusFirstError } from "../../../ui/focus-first-error.ts";
import { FormActions } from "../../../ui/form-actions.tsx";
import { FormDialog } from "../../../ui/form-dialog.tsx";
import { FormFailure } from "../../../ui/form-failure.tsx";
import { useUnsavedInput } from "../../../ui/unsaved-input.ts";

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
      <ServiceAccountForm {...props} />
    </FormDialog>
  );
}

function ServiceAccountForm(props: ServiceAccountDialogProps): ReactElement {
  const { workspace, grantableRoles, account, onClose, onSaved } = props;
  const queryClient = useQueryClient();
  const form = useForm({
    // Named, because a page can contain two forms with a field of this name.
    name: "service-account",
    mode: "uncontrolled",
    initialValues: { name: account?.name ?? "", role: account?.role ?? ("member" as const) },
    validate: {
      name: (name) => {
        const { length } = collapseSpaces(name);
        return length === 0
          ? "Enter a name, such as the integration that uses it."
          : describeLengthError(length, maxLength.serviceAccountName);
      },
    },
  });
  useUnsavedInput(form.isDirty);
  const handlers = {
    onSuccess: async (saved: ServiceAccount) => {
      queryClient.setQueryData(
        trpc.serviceAccounts.get.queryKey({ workspaceId: workspace.id, userId: saved.userId }),
        saved,
      );
      void queryClient.invalidateQueries({ queryKey: trpc.members.list.pathKey() });
      // The values are saved, so nothing asks before the page of the account opens.
      form.resetDirty();
      onClose();
      onSaved?.(saved);
    },
    onError: (error: unknown) => void showIssues(form, error),
  };
  const create = useMutation(trpc.serviceAccounts.create.mutationOptions(handlers));
  const change = useMutation(trpc.serviceAccounts.change.mutationOptions(handlers));
  const { isPending } = account ? change : create;
  const error = account ? change.error : create.error;
  const failure = error ? describeFailure(error) : undefined;
  const workspaceId = workspace.id;
  const save = ({ name, role }: { readonly name: string; readonly role: ServiceAccount["role"] }) => {
    if (isPending) return;
    const values = { name: collapseSpaces(name), role };
    if (!account) return create.mutate({ workspaceId, ...values });
    change.mutate({ workspaceId, userId: account.userId, version: account.version, ...values });
  };
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit(save, focusFirstError(form.getInputNode))}
    >
      {failure && !hasIssueOf(form, failure) && (
        <FormFailure message={failure.message} requestId={failure.requestId} />
      )}
      <TextInput
        {...form.getInputProps("name")}
        key={form.key("name")}
        label="Name"
        description="What the integration is. Shown to members and in the audit log."
        placeholder="Deploy pipeline"
        autoComplete="off"
        dir="auto"
        data-autofocus
        required
        withAsterisk={false}
      />
      <RoleSelect
        {...form.getInputProps("role")}
        key={form.key("role")}
        help="What its API keys can do in this workspace, unless they are restricted."
        roles={grantableRoles.filter((role) => role !== "owner")}
      />
      <FormActions
        action={account ? "Save" : "Create service account"}
        isBusy={isPending}
        onCancel={onClose}
      />
    </form>
  );
}
