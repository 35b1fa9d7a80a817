import { useDisclosure } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type IssuedKey, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { formatCount } from "../../ui/count.ts";
import rowClasses from "../../ui/danger-rows.module.css";
import { DeleteRow } from "../../ui/delete-row.tsx";
import dialogClasses from "../../ui/dialog.module.css";
import { titleOfKey } from "../../ui/issued-key-title.ts";
import { Quoted } from "../../ui/quoted.tsx";
import { Section } from "../../ui/section.tsx";
import { StatusRow } from "../../ui/status-row.tsx";
import { useStatusDialog } from "../../ui/use-status-dialog.ts";
import { watchPage } from "../../ui/watch-page.ts";
import { describeSecret } from "./keyspace-status.ts";
import { LastUse } from "./last-use.tsx";
import { refreshKeys } from "./refresh-keys.ts";
import { useIssuedKeyDisabling } from "./use-issued-key-change.ts";

interface DangerSectionProps {
  readonly workspace: SessionWorkspace;
  readonly issuedKey: IssuedKey;
}

/** The actions that disable, enable and delete a key. */
export function IssuedKeyDangerSection({ workspace, issuedKey }: DangerSectionProps): ReactElement {
  const { isDisabled } = issuedKey;
  const statusDialog = useStatusDialog(isDisabled);
  const [isDeleteOpen, deletion] = useDisclosure(false);
  return (
    <Section title="Danger zone">
      <div className={rowClasses.list}>
        <StatusRow noun="key" isDisabled={isDisabled} onChange={statusDialog.open}>
          {isDisabled
            ? "The key becomes valid again, with its current secret and settings."
            : "The key is not valid until you enable it again. Its settings don’t change."}
        </StatusRow>
        <DeleteRow noun="key" onDelete={deletion.open}>
          The key stops working immediately. This can’t be undone.
        </DeleteRow>
      </div>
      <DisableDialog
        workspace={workspace}
        issuedKey={issuedKey}
        isEnabling={statusDialog.isEnabling}
        isOpen={statusDialog.isOpen}
        onClose={statusDialog.close}
      />
      <DeleteDialog
        workspace={workspace}
        issuedKey={issuedKey}
        isOpen={isDeleteOpen}
        onClose={deletion.close}
      />
    </Section>
  );
}

interface DialogProps extends DangerSectionProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

function DisableDialog({
  workspace,
  issuedKey,
  isEnabling,
  isOpen,
  onClose,
}: DialogProps & { readonly isEnabling: boolean }): ReactElement {
  const change = useIssuedKeyDisabling(workspace.id, issuedKey, onClose);
  return (
    <ConfirmDialog
      isOpen={isOpen}
      title={
        <>
          {isEnabling ? "Enable" : "Disable"} <Quoted>{titleOfKey(issuedKey)}</Quoted>?
        </>
      }
      action={isEnabling ? "Enable key" : "Disable key"}
      isDangerous={!isEnabling}
      failure={change.failure}
      isBusy={change.isSaving}
      onCancel={onClose}
      onClosed={change.reset}
      onConfirm={() => change.setDisabled(!isEnabling)}
    >
      <p className={dialogClasses.words}>
        {isEnabling
          ? "The key becomes valid again on the next request, unless it has expired or is out of credits."
          : "Verifications of this key fail with DISABLED from the next request, until you enable it again."}
      </p>
      <KeyFacts issuedKey={issuedKey} />
    </ConfirmDialog>
  );
}

function DeleteDialog({ workspace, issuedKey, isOpen, onClose }: DialogProps): ReactElement {
  const navigate = useNavigate();
  const { id, keyspaceId } = issuedKey;
  const remove = useMutation(
    trpc.issuedKeys.delete.mutationOptions({
      onMutate: watchPage,
      onSuccess: async (_data, _input, isPageOpen) => {
        const params = { slug: workspace.slug, keyspaceId };
        if (isPageOpen()) await navigate({ to: "/w/$slug/keyspaces/$keyspaceId", params });
        await refreshKeys();
        notifications.show({ message: "Key deleted. It is no longer valid." });
      },
    }),
  );
  return (
    <ConfirmDialog
      isOpen={isOpen}
      title={
        <>
          Delete <Quoted>{titleOfKey(issuedKey)}</Quoted>?
        </>
      }
      action="Delete key"
      failure={remove.error ? describeFailure(remove.error) : undefined}
      isBusy={remove.isPending}
      onCancel={onClose}
      onClosed={remove.reset}
      onConfirm={() => remove.mutate({ workspaceId: workspace.id, keyspaceId, id })}
    >
      <p className={dialogClasses.words}>
        Verifications of this key fail with NOT_FOUND from the next request. Other keys of the consumer are
        not affected. This can’t be undone.
      </p>
      <KeyFacts issuedKey={issuedKey} />
    </ConfirmDialog>
  );
}

function KeyFacts({ issuedKey }: Pick<DangerSectionProps, "issuedKey">): ReactElement {
  const { externalId, lastUsedAt, usageCount } = issuedKey;
  return (
    <dl className={dialogClasses.facts}>
      <dt>Key</dt>
      <dd>
        <code>{describeSecret(issuedKey)}</code>
      </dd>
      {externalId !== null && (
        <>
          <dt>Consumer</dt>
          <dd>{externalId}</dd>
        </>
      )}
      <dt>Last used</dt>
      <dd>
        <LastUse at={lastUsedAt} />
      </dd>
      <dt>Uses</dt>
      <dd>{formatCount(usageCount)}</dd>
    </dl>
  );
}
