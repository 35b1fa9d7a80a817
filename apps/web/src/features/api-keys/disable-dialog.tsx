import { Button, Group, Modal } from "@mantine/core";
import type { ReactElement } from "react";
import type { ApiKey } from "../../server/trpc.ts";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import classes from "../../ui/dialog.module.css";
import { FormFailure } from "../../ui/form-failure.tsx";
import { Quoted } from "../../ui/quoted.tsx";
import { LastUse } from "./last-use.tsx";
import { useKeyChange } from "./use-key-change.ts";

interface DisableDialogProps {
  readonly apiKey: ApiKey;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Says what stops before a key is disabled. */
export function DisableDialog({ apiKey, isOpen, onClose }: DisableDialogProps): ReactElement {
  const { change, isSaving, failure } = useKeyChange();
  const disable = () => change({ base: apiKey, settings: { isDisabled: true }, onSaved: onClose });
  return (
    <Modal
      opened={isOpen}
      {...closeUnlessBusy(isSaving, onClose)}
      title={
        <>
          Disable <Quoted>{apiKey.name}</Quoted>?
        </>
      }
      size={480}
    >
      <p className={classes.words}>
        Every script and service that uses this key is refused from its next request on, until you enable it
        again.
      </p>
      <LastUse apiKey={apiKey} />
      {failure && (
        <div className={classes.failure}>
          <FormFailure message={failure.message} requestId={failure.requestId} />
        </div>
      )}
      <Group justify="flex-end" gap={8}>
        <Button variant="default" onClick={onClose} disabled={isSaving} data-autofocus>
          Cancel
        </Button>
        <Button className={classes.danger} loading={isSaving} onClick={disable}>
          Disable
        </Button>
      </Group>
    </Modal>
  );
}
