import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { describeFailure } from "../../../server/failure.ts";
import { type ServiceAccount, type SessionWorkspace, trpc } from "../../../server/trpc.ts";
import { ConfirmDialog } from "../../../ui/confirm-dialog.tsx";
import { DangerRow } from "../../../ui/danger-row.tsx";
import rowClasses from "../../../ui/danger-rows.module.css";
import { DeleteRow } from "../../../ui/delete-row.tsx";
import dialogClasses from "../../../ui/dialog.module.css";
import { Quoted } from "../../../ui/quoted.tsx";
import { Section } from "../../../ui/section.tsx";

interface ServiceAccountDangerProps {
  readonly workspace: SessionWorkspace;
  readonly account: ServiceAccount;
}

/** The actions that disable, enable and delete a service account. */
export function ServiceAccountDanger({ workspace, account }: ServiceAccountDangerProps): ReactElement {
  const { userId, isDisabled } = account;
  const [isDisableOpen, disabling] = useDisclosure(false);
  const [isDeleteOpen, deletion] = useDisclosure(false);
  // What the dialog does, which stays the same while it closes after the change.
  const [isEnabling, setIsEnabling] = useState(isDisabled);
  const workspaceId = workspace.id;
  const change = useStatusChange(workspaceId, disabling.close);
  const remove = useDeletion(workspace, account, deletion.close);
  return (
    <Section title="Danger zone">
      <div className={rowClasses.list}>
        <DangerRow
          title={isDisabled ? "Enable this service account" : "Disable this service account"}
          action={
            <Button
              variant="default"
              flex="none"
              onClick={() => {
                setIsEnabling(isDisabled);
                disabling.open();
              }}
            >
              {isDisabled ? "Enable service account" : "Disable service account"}
            </Button>
          }
        >
          {isDisabled
            ? "All of its API keys are rejected. Once it is enabled, they work again."
            : "All of its API keys are rejected until you enable it again."}
        </DangerRow>
        <DeleteRow noun="service account" onDelete={deletion.open}>
          All of its API keys are deleted and rejected immediately. This can’t be undone.
        </DeleteRow>
      </div>
      <ConfirmDialog
        isOpen={isDisableOpen}
        title={
          <>
            {isEnabling ? "Enable" : "Disable"} <Quoted>{account.name}</Quoted>?
          </>
        }
        action={isEnabling ? "Enable service account" : "Disable service account"}
        isDangerous={!isEnabling}
        failure={change.error ? describeFailure(change.error) : undefined}
        isBusy={change.isPending}
        onCancel={disabling.close}
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
        onDone();
      },
    }),
  );
}

function useDeletion({ slug }: SessionWorkspace, { name }: ServiceAccount, onDone: () => void) {
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const leave = async (outcome: string) => {
    onDone();
    await navigate({ to: "/w/$slug/members/service-accounts", params: { slug } });
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
      onSuccess: () => leave("was deleted. Its keys are rejected."),
      onError: async (error) => {
        if (describeFailure(error).code === "NOT_FOUND") await leave("was already deleted.");
      },
    }),
  );
}
