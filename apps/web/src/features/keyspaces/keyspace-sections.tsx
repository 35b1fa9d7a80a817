import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type Keyspace, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { countOf } from "../../ui/count.ts";
import rowClasses from "../../ui/danger-rows.module.css";
import dialogClasses from "../../ui/dialog.module.css";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { Quoted } from "../../ui/quoted.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import sectionClasses from "../../ui/section.module.css";
import { Section } from "../../ui/section.tsx";
import { describeCredits } from "./credits-values.ts";
import classes from "./keyspaces.module.css";
import { describeNamedLimit } from "./limit-values.ts";

interface KeyspaceSectionProps {
  readonly workspace: SessionWorkspace;
  readonly keyspace: Keyspace;
}

const deleteDialog = {
  load: () => import("./delete-keyspace-dialog.tsx").then((module) => module.DeleteKeyspaceDialog),
  closed: { isOpen: false },
};

/** The defaults of new keys, and what identifies the keyspace. */
export function KeyspaceDetails({ keyspace }: Pick<KeyspaceSectionProps, "keyspace">): ReactElement {
  const { id, defaultLifetimeDays, defaultPermissions, defaultLimits, defaultCredits, createdAt } = keyspace;
  return (
    <>
      <Section title="Defaults for new keys">
        <dl className={sectionClasses.facts}>
          <dt>Lifetime</dt>
          <dd>
            {defaultLifetimeDays === null ? "Never expires" : countOf(defaultLifetimeDays, "day", "days")}
          </dd>
          <dt>Permissions</dt>
          <dd>
            {defaultPermissions.length === 0 ? (
              <EmptyCell />
            ) : (
              <span className={classes.lines}>
                {defaultPermissions.map((name) => (
                  <code key={name}>{name}</code>
                ))}
              </span>
            )}
          </dd>
          <dt>Rate limits</dt>
          <dd>
            {defaultLimits.length === 0 ? (
              <EmptyCell />
            ) : (
              <span className={classes.lines}>
                {defaultLimits.map((limit) => (
                  <span key={limit.name}>{describeNamedLimit(limit)}</span>
                ))}
              </span>
            )}
          </dd>
          <dt>Credits</dt>
          <dd>{defaultCredits ? describeCredits(defaultCredits) : "Unlimited"}</dd>
        </dl>
      </Section>
      <Section title="Details">
        <dl className={sectionClasses.facts}>
          <dt>ID</dt>
          <dd>
            <code>{id}</code>
            <CopyButton text={id} label="Copy keyspace ID" />
          </dd>
          <dt>Created</dt>
          <dd>
            <RelativeTime at={createdAt} />
          </dd>
        </dl>
      </Section>
    </>
  );
}

/** The actions that disable, enable and delete a keyspace. */
export function KeyspaceDangerSection({ workspace, keyspace }: KeyspaceSectionProps): ReactElement {
  const queryClient = useQueryClient();
  const [isDisableOpen, disabling] = useDisclosure(false);
  const [isDeleteOpen, deletion] = useDisclosure(false);
  const { id, name, version, isDisabled, keyCount } = keyspace;
  const update = useMutation(
    trpc.keyspaces.update.mutationOptions({
      onSuccess: async ({ isDisabled: isNowDisabled }) => {
        await queryClient.invalidateQueries({ queryKey: trpc.keyspaces.pathKey() });
        disabling.close();
        notifications.show({ message: isNowDisabled ? "Keyspace disabled." : "Keyspace enabled." });
      },
      // After a conflict, trying again is based on the current version.
      onError: () => queryClient.invalidateQueries({ queryKey: trpc.keyspaces.get.pathKey() }),
    }),
  );
  // What the dialog does, which stays the same while it closes after the change.
  const [isEnabling, setIsEnabling] = useState(isDisabled);
  const verb = isDisabled ? "Enable" : "Disable";
  const dialogVerb = isEnabling ? "Enable" : "Disable";
  const keys = keyCount === 0 ? "keys" : countOf(keyCount, "key", "keys");
  const failure = update.error ? describeFailure(update.error) : undefined;
  return (
    <Section title="Danger zone">
      <div className={rowClasses.list}>
        <div className={sectionClasses.danger}>
          <p className={sectionClasses.words}>
            <strong>{verb} this keyspace</strong>
            {isDisabled
              ? "Its keys become valid again, except for those that are disabled themselves."
              : "None of its keys is valid until you enable it again. Nothing else changes."}
          </p>
          <Button
            variant="default"
            flex="none"
            onClick={() => {
              setIsEnabling(isDisabled);
              disabling.open();
            }}
          >
            {verb} keyspace
          </Button>
        </div>
        <div className={sectionClasses.danger}>
          <p className={sectionClasses.words}>
            <strong>Delete this keyspace</strong>
            Its keys are deleted too. This can’t be undone.
          </p>
          <Button className={dialogClasses.danger} flex="none" onClick={deletion.open}>
            Delete keyspace
          </Button>
        </div>
      </div>
      <ConfirmDialog
        isOpen={isDisableOpen}
        title={
          <>
            {dialogVerb} <Quoted>{name}</Quoted>?
          </>
        }
        action={`${dialogVerb} keyspace`}
        isDangerous={!isEnabling}
        failure={
          failure?.code === "PRECONDITION_FAILED"
            ? { ...failure, message: "Someone changed the keyspace at the same time. Try again." }
            : failure
        }
        isBusy={update.isPending}
        onCancel={disabling.close}
        onClosed={update.reset}
        onConfirm={() =>
          update.mutate({
            workspaceId: workspace.id,
            keyspaceId: id,
            version,
            changes: { isDisabled: !isEnabling },
          })
        }
      >
        <p className={dialogClasses.words}>
          {isEnabling
            ? "Its keys become valid again on the next request, except for those that are disabled themselves."
            : `Verifications of its ${keys} fail with DISABLED from the next request, until you enable the keyspace again.`}
        </p>
      </ConfirmDialog>
      <LazyDialog
        source={deleteDialog}
        props={{ workspace, keyspace, isOpen: isDeleteOpen, onClose: deletion.close }}
      />
    </Section>
  );
}
