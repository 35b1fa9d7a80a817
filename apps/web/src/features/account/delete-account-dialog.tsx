import { Button, Group, Modal, Skeleton, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useIsMutating, useMutation, useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { keepBrowserSettings } from "../../server/browser-storage.ts";
import { describeFailure } from "../../server/failure.ts";
import { type AccountDeletion, type Session, trpc } from "../../server/trpc.ts";
import { useLoadingFailure } from "../../server/use-loading-failure.ts";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { countOf } from "../../ui/count.ts";
import classes from "../../ui/dialog.module.css";
import { describeElapsed, describeExactly } from "../../ui/elapsed.ts";
import { FailurePanel } from "../../ui/failure-panel.tsx";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormActions } from "../../ui/form-actions.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { useNow } from "../../ui/use-now.ts";

interface DeleteAccountDialogProps {
  readonly user: Session["user"];
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

export function DeleteAccountDialog(props: DeleteAccountDialogProps): ReactElement {
  const { isOpen, onClose } = props;
  const isDeleting = useIsMutating({ mutationKey: trpc.account.delete.mutationKey() }) > 0;
  return (
    <Modal opened={isOpen} {...closeUnlessBusy(isDeleting, onClose)} title="Delete your account?" size={480}>
      <Content {...props} />
    </Modal>
  );
}

/** Says what the deletion does, or why it isn't possible, before it asks for confirmation. */
function Content(props: DeleteAccountDialogProps): ReactElement {
  // Workspaces and keys may have changed since the dialog was last open.
  const deletion = useQuery(trpc.account.deletion.queryOptions(undefined, { staleTime: 0, gcTime: 0 }));
  const failure = useLoadingFailure(deletion);
  if (failure) {
    return (
      <FailurePanel
        title="Couldn’t load what would be deleted"
        message={failure.message}
        requestId={failure.requestId}
        isRetrying={deletion.isFetching}
        onRetry={() => void deletion.refetch()}
      />
    );
  }
  if (!deletion.data) return <Skeleton h={200} />;
  const { isNeededOperator, blockingWorkspaces } = deletion.data;
  if (isNeededOperator || blockingWorkspaces.length > 0)
    return <RejectedDeletion {...props} deletion={deletion.data} />;
  return <Confirmation {...props} deletion={deletion.data} />;
}

type ContentProps = DeleteAccountDialogProps & { readonly deletion: AccountDeletion };

function RejectedDeletion({ deletion, onClose }: ContentProps): ReactElement {
  const { isNeededOperator, blockingWorkspaces } = deletion;
  return (
    <>
      {isNeededOperator && (
        <p className={classes.words}>
          You are the only operator who can sign in, and the instance has other users. Make another user an
          operator first.
        </p>
      )}
      {blockingWorkspaces.length > 0 && (
        <>
          <p className={classes.words}>
            You are the last owner of these workspaces, which have other members or service accounts. First,
            offer ownership to another member on the members page, or delete the workspace.
          </p>
          <WorkspaceList workspaces={blockingWorkspaces} />
        </>
      )}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose} data-autofocus>
          Close
        </Button>
      </Group>
    </>
  );
}

function WorkspaceList({
  workspaces,
}: {
  readonly workspaces: AccountDeletion["deletedWorkspaces"];
}): ReactElement {
  return (
    <ul className={classes.points}>
      {workspaces.map(({ id, name, slug }) => (
        <li key={id}>
          <a href={`/w/${slug}/members`}>
            <bdi>{name}</bdi>
          </a>
        </li>
      ))}
    </ul>
  );
}

function Confirmation({ user, deletion, onClose }: ContentProps): ReactElement {
  const { keyCount, lastUsedAt, deletedWorkspaces } = deletion;
  const now = useNow();
  const form = useForm({
    name: "delete-account",
    mode: "uncontrolled",
    initialValues: { email: "" },
    validate: {
      email: (email) =>
        email.trim().toLowerCase() === user.email ? null : `Enter “${user.email}” to confirm.`,
    },
  });
  const remove = useMutation(
    trpc.account.delete.mutationOptions({
      onMutate: keepBrowserSettings,
      onSuccess: (_data, _input, restoreSettings) => {
        restoreSettings();
        // Loads the app again, so that nothing of the deleted account stays in memory.
        window.location.replace("/sign-in");
      },
    }),
  );
  const failure = remove.error ? describeFailure(remove.error) : undefined;
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit(() => {
        if (!remove.isPending) remove.mutate({ email: user.email });
      }, focusFirstError(form.getInputNode))}
    >
      <p className={classes.words}>
        Your password, sessions and API keys are deleted immediately, and you leave every workspace. Other
        workspaces keep your name in their audit logs. This can’t be undone.
      </p>
      <dl className={classes.facts}>
        <dt>API keys</dt>
        <dd>
          {keyCount === 0 ? "No key stops working" : `${countOf(keyCount, "key stops", "keys stop")} working`}
          {lastUsedAt !== null && (
            <>
              ; last used {describeElapsed(new Date(lastUsedAt), now)} (
              {describeExactly(new Date(lastUsedAt))})
            </>
          )}
        </dd>
      </dl>
      {deletedWorkspaces.length > 0 && (
        <div>
          <p className={classes.words}>
            You are the only member of these workspaces. They are deleted with their audit logs:
          </p>
          <WorkspaceList workspaces={deletedWorkspaces} />
        </div>
      )}
      {failure && <FormFailure message={failure.message} requestId={failure.requestId} />}
      <TextInput
        {...form.getInputProps("email")}
        key={form.key("email")}
        label={
          <>
            Enter <bdi>{user.email}</bdi> to confirm
          </>
        }
        autoComplete="off"
        spellCheck={false}
        data-autofocus
      />
      <FormActions action="Delete account" isDangerous isBusy={remove.isPending} onCancel={onClose} />
    </form>
  );
}
