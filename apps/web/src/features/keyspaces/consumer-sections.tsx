import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPencil } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { Consumer, SessionWorkspace } from "../../server/trpc.ts";
import { CopyButton } from "../../ui/copy-button.tsx";
import { formatCount } from "../../ui/count.ts";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import sectionClasses from "../../ui/section.module.css";
import { Section } from "../../ui/section.tsx";
import { describeKeys } from "./describe-keys.ts";
import classes from "./keyspaces.module.css";
import { describeNamedLimit } from "./limit-values.ts";

interface ConsumerLimitsProps {
  readonly workspace: SessionWorkspace;
  readonly consumer: Consumer;
  readonly canManage: boolean;
}

const editDialog = {
  load: () => import("./edit-consumer-dialog.tsx").then((module) => module.EditConsumerDialog),
  closed: { isOpen: false },
};

/** The rate limits that all keys of a consumer share. */
export function ConsumerLimits({ workspace, consumer, canManage }: ConsumerLimitsProps): ReactElement {
  const [isEditOpen, edit] = useDisclosure(false);
  const { limits } = consumer;
  return (
    <Section
      title="Shared rate limits"
      action={
        canManage && (
          <Button variant="default" leftSection={<IconPencil size={16} />} onClick={edit.open}>
            Edit limits
          </Button>
        )
      }
    >
      <div className={sectionClasses.box}>
        {limits.length === 0 ? (
          <p className={sectionClasses.words}>
            None. Only the limits of each key apply. A shared limit applies to all keys of the consumer
            together, in addition to the limits of each key.
          </p>
        ) : (
          <ul className={classes.limits}>
            {limits.map((limit) => (
              <li key={limit.name}>{describeNamedLimit(limit)}</li>
            ))}
          </ul>
        )}
      </div>
      <LazyDialog
        source={editDialog}
        props={{ workspaceId: workspace.id, consumer, isOpen: isEditOpen, onClose: edit.close }}
      />
    </Section>
  );
}

/** What identifies a consumer, and the uses of its keys. */
export function ConsumerDetails({ consumer }: Pick<ConsumerLimitsProps, "consumer">): ReactElement {
  const { externalId, createdAt, lastUsedAt, usageCount } = consumer;
  return (
    <Section title="Details">
      <dl className={sectionClasses.facts}>
        <dt>External ID</dt>
        <dd>
          <bdi>{externalId}</bdi>
          <CopyButton text={externalId} label="Copy external ID" />
        </dd>
        <dt>Keys</dt>
        <dd>{describeKeys(consumer)}</dd>
        <dt>Uses</dt>
        <dd>{formatCount(usageCount)}</dd>
        <dt>Last used</dt>
        <dd>{lastUsedAt ? <RelativeTime at={lastUsedAt} /> : "Never"}</dd>
        <dt>Created</dt>
        <dd>
          <RelativeTime at={createdAt} />
        </dd>
      </dl>
    </Section>
  );
}
