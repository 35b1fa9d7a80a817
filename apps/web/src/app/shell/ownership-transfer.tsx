import { Button, Group } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, type ReactNode, useEffect } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type OwnershipTransfer, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import dialogClasses from "../../ui/dialog.module.css";
import { describeExactly } from "../../ui/elapsed.ts";
import { Quoted } from "../../ui/quoted.tsx";
import classes from "./ownership-transfer.module.css";

interface NoticeProps {
  readonly workspace: SessionWorkspace;
  readonly transfer: OwnershipTransfer;
}

/** Shows a transfer to the member who can accept it, and to the owners of the workspace. */
export function OwnershipTransferNotice({
  ownId,
  ...notice
}: NoticeProps & { readonly ownId: string }): ReactElement | null {
  if (notice.transfer.to.userId === ownId) return <OwnershipOffer {...notice} />;
  return notice.workspace.role === "owner" ? <PendingTransfer {...notice} ownId={ownId} /> : null;
}

/** Refetches what a transfer changes. A rejection can mean that the transfer has ended. */
function useRefresh({ id: workspaceId }: SessionWorkspace): () => Promise<unknown> {
  const queryClient = useQueryClient();
  return () =>
    Promise.all([
      queryClient.invalidateQueries({ queryKey: trpc.ownership.get.queryKey({ workspaceId }) }),
      queryClient.invalidateQueries({ queryKey: trpc.members.list.pathKey() }),
      queryClient.invalidateQueries({ queryKey: trpc.workspaces.get.queryKey({ workspaceId }) }),
    ]);
}

/** The frame of a notice. If the focus was in the notice when it is removed, the focus moves to the page. */
function Notice({ children }: { readonly children: ReactNode }): ReactElement {
  useEffect(
    () => () => {
      const { activeElement } = document;
      // The user may have focused another element since, for example an open list of choices, which would close.
      if (!activeElement || activeElement === document.body) document.getElementById("content")?.focus();
    },
    [],
  );
  return (
    <section className={classes.notice} aria-label="Ownership">
      {children}
    </section>
  );
}

/** For the member who can accept ownership. */
function OwnershipOffer({ workspace, transfer }: NoticeProps): ReactElement {
  const [isOpen, dialog] = useDisclosure(false);
  const refresh = useRefresh(workspace);
  const input = { workspaceId: workspace.id };
  const accept = useMutation(
    trpc.ownership.accept.mutationOptions({
      onSuccess: async () => {
        dialog.close();
        await refresh();
        notifications.show({
          message: (
            <>
              You are now an owner of <Quoted>{workspace.name}</Quoted>.
            </>
          ),
        });
      },
    }),
  );
  const decline = useMutation(
    trpc.ownership.end.mutationOptions({
      onSuccess: async () => {
        await refresh();
        notifications.show({ message: "You declined ownership." });
      },
      onError: async (error) => {
        notifications.show({ message: describeFailure(error).message });
        await refresh();
      },
    }),
  );
  const { from, expiresAt } = transfer;
  return (
    <Notice>
      <p>
        <strong>
          <bdi>{from.name}</bdi> offers you ownership of this workspace.
        </strong>{" "}
        You can accept it until {describeExactly(new Date(expiresAt))}.
      </p>
      <Group gap={8}>
        <BusyButton
          variant="default"
          size="xs"
          loading={decline.isPending}
          onClick={() => decline.mutate(input)}
        >
          Decline
        </BusyButton>
        <Button size="xs" onClick={dialog.open}>
          Accept ownership
        </Button>
      </Group>
      <ConfirmDialog
        isOpen={isOpen}
        title={
          <>
            Become an owner of <Quoted>{workspace.name}</Quoted>?
          </>
        }
        action="Become an owner"
        isDangerous={false}
        isBusy={accept.isPending}
        failure={accept.error ? describeFailure(accept.error) : undefined}
        onCancel={dialog.close}
        onClosed={() => {
          if (accept.isError) void refresh();
          accept.reset();
        }}
        onConfirm={() => accept.mutate(input)}
      >
        <p className={dialogClasses.words}>
          You can then do everything in this workspace, and delete it. <Quoted>{from.name}</Quoted> becomes an
          admin. Both changes also apply immediately to the API keys of both of you.
        </p>
      </ConfirmDialog>
    </Notice>
  );
}

/** For the owners of the workspace. */
function PendingTransfer({
  ownId,
  workspace,
  transfer: { from, to, expiresAt },
}: NoticeProps & { readonly ownId: string }): ReactElement {
  const refresh = useRefresh(workspace);
  const withdraw = useMutation(
    trpc.ownership.end.mutationOptions({
      onSuccess: async () => {
        await refresh();
        notifications.show({ message: "The ownership offer was withdrawn." });
      },
      onError: async (error) => {
        notifications.show({ message: describeFailure(error).message });
        await refresh();
      },
    }),
  );
  return (
    <Notice>
      <p>
        <strong>
          Ownership is offered to <bdi>{to.name}</bdi>.
        </strong>{" "}
        The offer can be accepted until {describeExactly(new Date(expiresAt))}. If <bdi>{to.name}</bdi>{" "}
        accepts,{" "}
        {from.userId === ownId ? (
          "you become an admin."
        ) : (
          <>
            <bdi>{from.name}</bdi> becomes an admin.
          </>
        )}
      </p>
      <BusyButton
        variant="default"
        size="xs"
        loading={withdraw.isPending}
        onClick={() => withdraw.mutate({ workspaceId: workspace.id })}
      >
        Withdraw offer
      </BusyButton>
    </Notice>
  );
}
