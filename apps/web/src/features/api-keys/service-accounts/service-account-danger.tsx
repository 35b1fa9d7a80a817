import { useDisclosure } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { describeFailure } from "../../../server/failure.ts";
import { type ServiceAccount, type SessionWorkspace, trpc } from "../../../server/trpc.ts";
import { ConfirmDialog } from "../../../ui/confirm-dialog.tsx";
import rowClasses from "../../../ui/danger-rows.module.css";
import { DeleteRow } from "../../../ui/delete-row.tsx";
import dialogClasses from "../../../ui/dialog.module.css";
import { Quoted } from "../../../ui/quoted.tsx";
import { Section } from "../../../ui/section.tsx";
import { StatusRow } from "../../../ui/status-row.tsx";
import { useStatusDialog } from "../../../ui/use-status-dialog.ts";
import { watchPage } from "../../../ui/watch-page.ts";

interface ServiceAccountDangerProps {
  readonly workspace: SessionWorkspace;
  readonly account: ServiceAccount;
}

/** The actions that disable, enable and delete a service account. */
export function ServiceAccountDanger({ workspace, account }: ServiceAccountDangerProps): ReactElement {
  const { userId, isDisabled } = account;
  const statusDialog = useStatusDialog(isDisabled);
  const { isEnabling } = statusDialog;
  const [isDeleteOpen, deletion] = useDisclosure(false);
  const workspaceId = workspace.id;
  const change = useStatusChange(workspaceId, statusDialog.close);
  const remove = useDeletion(workspace, account, deletion.close);
  return (
    <Section title="Danger zone">
      <div className={rowClasses.list}>
        <StatusRow noun="service account" isDisabled={isDisabled} onChange={statusDialog.open}>
          {isDisabled
            ? "All of its API keys are rejected. Once it is enabled, they work again."
            : "All of its API keys are rejected until you enable it again."}
        </StatusRow>
        <DeleteRow noun="service account" onDelete={deletion.open}>
          All of its API keys are deleted and rejected immediately. This can’t be undone.
        </DeleteRow>
      </div>
      <ConfirmDialog
        isOpen={statusDialog.isOpen}
        title={
          <>
            {isEnabling ? "Enable" : "Disable"} <Quoted>{account.name}</Quoted>?
          </>
        }
        action={isEnabling ? "Enable service account" : "Disable service account"}
        isDangerous={!isEnabling}
        failure={change.error ? describeFailure(change.error) : undefined}
        isBusy={change.isPending}
        onCancel={statusDialog.close}
        onClosed={change.reset}
        onConfirm={() => change.mutate({ workspaceId, userId, isDisabled: !isEnabling })}
      >
        <p className={dialogClasses.words}>
          {isEnabling
            ? "Requests with its API keys are allowed again immediately."
            : "Requests with its API keys are rejected immediately, until you enable it again."}
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        isOpen={isDeleteOpen}
        title={
          <>
            Delete <Quoted>{account.name}</Quoted>?
          </>
        }
        action="Delete service account"
        failure={remove.error ? describeFailure(remove.error) : undefined}
        isBusy={remove.isPending}
        onCancel={deletion.close}
        onClosed={remove.reset}
        onConfirm={() => remove.mutate({ workspaceId, userId })}
      >
        <p className={dialogClasses.words}>
          All of its API keys are deleted, and their requests are rejected immediately. Its events in the
          audit log stay. This can’t be undone.
        </p>
      </ConfirmDialog>
    </Section>
  );
}

function useStatusChange(workspaceId: string, onDone: () => void) {
  const queryClient = useQueryClient();
  return useMutation(
    trpc.serviceAccounts.change.mutationOptions({
      onSuccess: (account) => {
        const { userId } = account;
        queryClient.setQueryData(trpc.serviceAccounts.get.queryKey({ workspaceId, userId }), account);
        void queryClient.invalidateQueries({ queryKey: trpc.members.list.pathKey() });
        void queryClient.invalidateQueries({ queryKey: trpc.serviceAccounts.keys.pathKey() });
        onDone();
      },
    }),
  );
}

function useDeletion({ slug }: SessionWorkspace, { name }: ServiceAccount, onDone: () => void) {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const leave = async (outcome: string, isPageOpen: () => boolean) => {
    onDone();
    if (isPageOpen()) await navigate({ to: "/w/$slug/members/service-accounts", params: { slug } });
    void queryClient.invalidateQueries({ queryKey: trpc.members.list.pathKey() });
    notifications.show({
      message: (
        <>
          <Quoted>{name}</Quoted> {outcome}
        </>
      ),
    });
  };
  return useMutation(
    trpc.serviceAccounts.delete.mutationOptions({
      onMutate: watchPage,
      onSuccess: (_data, _input, isPageOpen) => leave("was deleted. Its keys are rejected.", isPageOpen),
      onError: async (error, _input, isPageOpen) => {
        if (describeFailure(error).code === "NOT_FOUND" && isPageOpen)
          await leave("was already deleted.", isPageOpen);
      },
    }),
  );
}
