import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type Consumer, trpc } from "../../server/trpc.ts";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { countOf } from "../../ui/count.ts";
import { DangerRow } from "../../ui/danger-row.tsx";
import rowClasses from "../../ui/danger-rows.module.css";
import dialogClasses from "../../ui/dialog.module.css";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { Quoted } from "../../ui/quoted.tsx";
import { Section } from "../../ui/section.tsx";
import { describeConsumerChange } from "./describe-consumer-change.ts";
import { describeKeys } from "./describe-keys.ts";
import { LastUse } from "./last-use.tsx";
import { rotateKeysDialog } from "./lazy-rotate-keys-dialog.ts";
import { refreshKeys } from "./refresh-keys.ts";

type Action = "disable" | "enable" | "delete";

/** What can be done with all keys of a consumer. */
const actions = {
  disable: {
    verb: "Disable",
    done: "disabled",
    explanation: "The consumer’s keys aren’t valid until you enable them again. Their settings don’t change.",
    none: "All keys were already disabled.",
  },
  enable: {
    verb: "Enable",
    done: "enabled",
    explanation: "The consumer’s keys become valid again, unless they have expired or are out of credits.",
    none: "All keys were already enabled.",
  },
  delete: {
    verb: "Delete",
    done: "deleted",
    explanation: "The consumer’s keys stop working immediately. This can’t be undone.",
    none: "The consumer had no keys.",
  },
} as const satisfies Record<Action, object>;

interface ConsumerDangerSectionProps {
  readonly workspaceId: string;
  readonly consumer: Consumer;
}

/** The actions that rotate, disable, enable and delete all keys of a consumer. Each is one call: all keys are changed or none. */
export function ConsumerDangerSection({ workspaceId, consumer }: ConsumerDangerSectionProps): ReactElement {
  const [isOpen, dialog] = useDisclosure(false);
  const [isRotating, rotation] = useDisclosure(false);
  // What the dialog does, which stays the same while it closes after the change.
  const [action, setAction] = useState<Action>("disable");
  const { keyspaceId, externalId, keyCount } = consumer;
  return (
    <Section title="Danger zone">
      <div className={rowClasses.list}>
        <DangerRow
          title="Rotate all keys"
          action={
            <Button variant="default" flex="none" disabled={keyCount === 0} onClick={rotation.open}>
              Rotate all keys
            </Button>
          }
        >
          Each of the consumer’s keys gets a new secret. The old secrets stay valid for the time that you
          choose.
        </DangerRow>
        {(["disable", "enable", "delete"] as const).map((name) => (
          <DangerRow
            key={name}
            title={`${actions[name].verb} all keys`}
            action={
              <Button
                {...(name === "delete" ? { className: dialogClasses.danger } : { variant: "default" })}
                flex="none"
                disabled={keyCount === 0}
                onClick={() => {
                  setAction(name);
                  dialog.open();
                }}
              >
                {actions[name].verb} all keys
              </Button>
            }
          >
            {actions[name].explanation}
          </DangerRow>
        ))}
      </div>
      <ChangeKeysDialog
        workspaceId={workspaceId}
        consumer={consumer}
        action={action}
        isOpen={isOpen}
        onClose={dialog.close}
      />
      <LazyDialog
        source={rotateKeysDialog}
        props={{
          isOpen: isRotating,
          path: { workspaceId, keyspaceId },
          title: (
            <>
              Rotate all keys of <Quoted>{externalId}</Quoted>
            </>
          ),
          choice: { externalId },
          keyCount,
          onClose: rotation.close,
        }}
      />
    </Section>
  );
}

interface ChangeKeysDialogProps extends ConsumerDangerSectionProps {
  readonly action: Action;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Asks for confirmation before all keys of a consumer are disabled, enabled or deleted. */
function ChangeKeysDialog({
  workspaceId,
  consumer,
  action,
  isOpen,
  onClose,
}: ChangeKeysDialogProps): ReactElement {
  const { keyspaceId, externalId, keyCount, lastUsedAt } = consumer;
  const change = useMutation(
    trpc.issuedKeyBulk.change.mutationOptions({
      onSuccess: async ({ changed }) => {
        await refreshKeys();
        onClose();
        // Without keys, the button that opened the dialog is disabled and can't get the focus back.
        if (action === "delete") document.getElementById("content")?.focus();
        const { done, none } = actions[action];
        const keys = countOf(changed.length, "key was", "keys were");
        notifications.show({ message: changed.length === 0 ? none : `${keys} ${done}.` });
      },
    }),
  );
  return (
    <ConfirmDialog
      isOpen={isOpen}
      title={
        <>
          {actions[action].verb} all keys of <Quoted>{externalId}</Quoted>?
        </>
      }
      action={`${actions[action].verb} ${countOf(keyCount, "key", "keys")}`}
      isDangerous={action !== "enable"}
      failure={change.error ? describeFailure(change.error) : undefined}
      isBusy={change.isPending}
      onCancel={onClose}
      onClosed={change.reset}
      onConfirm={() => change.mutate({ workspaceId, keyspaceId, change: { action, externalId } })}
    >
      <p className={dialogClasses.words}>{describeConsumerChange(action, consumer)}</p>
      <dl className={dialogClasses.facts}>
        <dt>Keys</dt>
        <dd>{describeKeys(consumer)}</dd>
        <dt>Last used</dt>
        <dd>
          <LastUse at={lastUsedAt} />
        </dd>
      </dl>
    </ConfirmDialog>
  );
}
