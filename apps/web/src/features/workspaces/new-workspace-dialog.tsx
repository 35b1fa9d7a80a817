import { TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useIsMutating, useMutation } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import { trpc } from "../../server/trpc.ts";
import { useSessionChanges } from "../../server/use-session-changes.ts";
import { collapseSpaces } from "../../ui/collapse-spaces.ts";
import classes from "../../ui/dialog.module.css";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormActions } from "../../ui/form-actions.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { workspaceRules } from "./workspace-values.ts";

interface NewWorkspaceDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

const lostResponse =
  "The server didn’t respond. The workspace may have been created. Before you try again, reload the page, and look for it in the list of workspaces.";

export function NewWorkspaceDialog({ isOpen, onClose }: NewWorkspaceDialogProps): ReactElement {
  const isCreating = useIsMutating({ mutationKey: trpc.workspaces.create.mutationKey() }) > 0;
  return (
    <FormDialog isOpen={isOpen} isBusy={isCreating} title="New workspace" size={480} onClose={onClose}>
      <NewWorkspaceForm onClose={onClose} />
    </FormDialog>
  );
}

function NewWorkspaceForm({ onClose }: Pick<NewWorkspaceDialogProps, "onClose">): ReactElement {
  const sessionChanges = useSessionChanges();
  const form = useForm({
    // Named, because a page can contain two forms with a field of this name.
    name: "new-workspace",
    mode: "uncontrolled",
    initialValues: { name: "" },
    validate: { name: workspaceRules.name },
  });
  useUnsavedInput(form.isDirty);
  const create = useMutation(
    trpc.workspaces.create.mutationOptions({
      onSuccess: async ({ id, name, slug, isDisabled }) => {
        // The name is saved, so nothing asks before the new workspace opens.
        form.resetDirty();
        onClose();
        await sessionChanges.add({ id, name, slug, role: "owner", isDisabled });
      },
      onError: (error) => showIssues(form, error),
    }),
  );
  const failure = create.error ? describeFailure(create.error) : undefined;
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit(({ name }) => {
        if (!create.isPending) create.mutate({ name: collapseSpaces(name) });
      }, focusFirstError(form.getInputNode))}
    >
      {failure && !hasIssueOf(form, failure) && (
        <FormFailure
          message={failure.code === "NO_ANSWER" ? lostResponse : failure.message}
          requestId={failure.requestId}
        />
      )}
      <TextInput
        {...form.getInputProps("name")}
        key={form.key("name")}
        label="Name"
        description="You become its owner. You can change the name later; the URL stays the same."
        placeholder="Acme"
        autoComplete="off"
        dir="auto"
        data-autofocus
        required
        withAsterisk={false}
      />
      <FormActions action="Create workspace" isBusy={create.isPending} onCancel={onClose} />
    </form>
  );
}
