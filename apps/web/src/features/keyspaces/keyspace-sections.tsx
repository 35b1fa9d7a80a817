import { useDisclosure } from "@mantine/hooks";
import type { ReactElement } from "react";
import type { Keyspace, SessionWorkspace } from "../../server/trpc.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { countOf } from "../../ui/count.ts";
import rowClasses from "../../ui/danger-rows.module.css";
import { DeleteRow } from "../../ui/delete-row.tsx";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import sectionClasses from "../../ui/section.module.css";
import { Section } from "../../ui/section.tsx";
import { StatusRow } from "../../ui/status-row.tsx";
import { useStatusDialog } from "../../ui/use-status-dialog.ts";
import { describeCredits } from "./credits-values.ts";
import classes from "./keyspaces.module.css";
import { describeNamedLimit } from "./limit-values.ts";

interface KeyspaceSectionProps {
  readonly workspace: SessionWorkspace;
  readonly keyspace: Keyspace;
}

const disableDialog = {
  load: () => import("./disable-keyspace-dialog.tsx").then((module) => module.DisableKeyspaceDialog),
  closed: { isOpen: false },
};

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
  const { isDisabled } = keyspace;
  const { isOpen, isEnabling, open, close } = useStatusDialog(isDisabled);
  const [isDeleteOpen, deletion] = useDisclosure(false);
  return (
    <Section title="Danger zone">
      <div className={rowClasses.list}>
        <StatusRow noun="keyspace" isDisabled={isDisabled} onChange={open}>
          {isDisabled
            ? "Its keys become valid again, except for those that are disabled, expired or out of credits themselves."
            : "None of its keys is valid until you enable it again. Nothing else changes."}
        </StatusRow>
        <DeleteRow noun="keyspace" onDelete={deletion.open}>
          Its keys are deleted too. This can’t be undone.
        </DeleteRow>
      </div>
      <LazyDialog
        source={disableDialog}
        props={{ workspace, keyspace, isEnabling, isOpen, onClose: close }}
      />
      <LazyDialog
        source={deleteDialog}
        props={{ workspace, keyspace, isOpen: isDeleteOpen, onClose: deletion.close }}
      />
    </Section>
  );
}
