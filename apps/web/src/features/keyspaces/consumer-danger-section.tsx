import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useMutation } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { type Consumer, trpc } from "../../server/trpc.ts";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { countOf } from "../../ui/count.ts";
import rowClasses from "../../ui/danger-rows.module.css";
import dialogClasses from "../../ui/dialog.module.css";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { Quoted } from "../../ui/quoted.tsx";
import sectionClasses from "../../ui/section.module.css";
import { Section } from "../../ui/section.tsx";
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
  const change = useMutation(
    trpc.issuedKeyBulk.change.mutationOptions({
      onSuccess: async ({ changed }) => {
        await refreshKeys();
        dialog.close();
        // Without keys, the button that opened the dialog is disabled and can't get the focus back.
        if (action === "delete") document.getElementById("content")?.focus();
        const { done, none } = actions[action];
        const keys = countOf(changed.length, "key was", "keys were");
        notifications.show({ message: changed.length === 0 ? none : `${keys} ${done}.` });
      },
    }),
  );
  return (
    <Section title="Danger zone">
      <div className={rowClasses.list}>
        <div className={sectionClasses.danger}>
          <p className={sectionClasses.words}>
            <strong>Rotate all keys</strong>
            Each of the consumer’s keys gets a new secret. The old secrets stay valid for the time that you
            choose.
          </p>
          <Button variant="default" flex="none" disabled={keyCount === 0} onClick={rotation.open}>
            Rotate all keys
          </Button>
        </div>
        {(["disable", "enable", "delete"] as const).map((name) => (
          <div key={name} className={sectionClasses.danger}>
            <p className={sectionClasses.words}>
              <strong>{actions[name].verb} all keys</strong>
              {actions[name].explanation}
            </p>
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
          </div>
        ))}
      </div>
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
        onCancel={dialog.close}
        onClosed={change.reset}
        onConfirm={() => change.mutate({ workspaceId, keyspaceId, change: { action, externalId } })}
      >
        <p className={dialogClasses.words}>{describeEffect(action, consumer)}</p>
        <dl className={dialogClasses.facts}>
          <dt>Keys</dt>
          <dd>{describeKeys(consumer)}</dd>
          <dt>Last used</dt>
          <dd>
            <LastUse at={consumer.lastUsedAt} />
          </dd>
        </dl>
      </ConfirmDialog>
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

function describeEffect(action: Action, { activeKeyCount }: Consumer): string {
  if (action === "enable")
    return "Keys that are disabled become valid again, unless they have expired or are out of credits.";
  const stop =
    activeKeyCount === 0
      ? "None of the keys is active, so none stops working."
      : `${countOf(activeKeyCount, "key stops", "keys stop")} working from the next request, on every service that verifies them.`;
  return `${stop} ${action === "delete" ? "This can’t be undone." : "You can enable them again."}`;
}
