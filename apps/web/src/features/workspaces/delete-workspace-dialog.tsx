import { Modal, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation, useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { useSessionChanges } from "../../server/use-session-changes.ts";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { collapseSpaces } from "../../ui/collapse-spaces.ts";
import { countOf } from "../../ui/count.ts";
import classes from "../../ui/dialog.module.css";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormActions } from "../../ui/form-actions.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { Quoted } from "../../ui/quoted.tsx";

interface DeleteWorkspaceDialogProps {
  readonly workspace: SessionWorkspace;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function DeleteWorkspaceDialog(props: DeleteWorkspaceDialogProps): ReactElement {
  const { workspace, isOpen, onClose } = props;
  const isDeleting = useIsMutating({ mutationKey: trpc.workspaces.delete.mutationKey() }) > 0;
  return (
    <Modal
      opened={isOpen}
      {...closeUnlessBusy(isDeleting, onClose)}
      title={
        <>
          Delete <Quoted>{workspace.name}</Quoted>?
        </>
      }
      size={480}
    >
      <Confirmation {...props} />
    </Modal>
  );
}

function Confirmation({ workspace, onClose }: DeleteWorkspaceDialogProps): ReactElement {
  const workspaceId = workspace.id;
  const sessionChanges = useSessionChanges();
  const members = useQuery(trpc.members.list.queryOptions({ workspaceId }));
  const form = useForm({
    // Named, because a page can contain two forms with a field of this name.
    name: "delete-workspace",
    mode: "uncontrolled",
    initialValues: { name: "" },
    validate: {
      name: (name) =>
        collapseSpaces(name) === collapseSpaces(workspace.name) ? null : `Enter “${workspace.name}” exactly.`,
    },
  });
  const remove = useMutation(
    trpc.workspaces.delete.mutationOptions({
      onSuccess: async () => {
        await sessionChanges.remove(workspaceId);
        notifications.show({
          message: (
            <>
              <Quoted>{workspace.name}</Quoted> was deleted. API keys can no longer access it.
            </>
          ),
        });
      },
    }),
  );
  const failure = remove.error ? describeFailure(remove.error) : undefined;
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit(() => {
        if (!remove.isPending) remove.mutate({ workspaceId });
      }, focusFirstError(form.getInputNode))}
    >
      <p className={classes.words}>
        The workspace, its keyspaces, its audit log, and its service accounts with their API keys are deleted
        immediately
        {members.data && <> for {describeMembers(members.data.total)}</>}. The keys that it issued stop
        working, and members’ API keys can no longer access it. Members keep their accounts, API keys and
        other workspaces. This can’t be undone.
      </p>
      {failure && <FormFailure message={failure.message} requestId={failure.requestId} />}
      <TextInput
        {...form.getInputProps("name")}
        key={form.key("name")}
        label={
          <>
            Enter <Quoted>{workspace.name}</Quoted> to confirm
          </>
        }
        autoComplete="off"
        spellCheck={false}
        dir="auto"
        data-autofocus
      />
      <FormActions action="Delete workspace" isDangerous isBusy={remove.isPending} onCancel={onClose} />
    </form>
  );
}

function describeMembers(total: number): string {
  return total === 1 ? "you, its only member" : `all ${countOf(total, "member", "members")}`;
}
