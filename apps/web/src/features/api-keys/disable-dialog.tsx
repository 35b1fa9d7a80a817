import type { ReactElement } from "react";
import type { ApiKey } from "../../server/trpc.ts";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import classes from "../../ui/dialog.module.css";
import { Quoted } from "../../ui/quoted.tsx";
import { LastUse } from "./last-use.tsx";
import { useKeyChange } from "./use-key-change.ts";

interface DisableDialogProps {
  readonly apiKey: ApiKey;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Explains the consequences before a key is disabled. */
export function DisableDialog({ apiKey, isOpen, onClose }: DisableDialogProps): ReactElement {
  const { change, isSaving, failure, reset } = useKeyChange();
  return (
    <ConfirmDialog
      isOpen={isOpen}
      title={
        <>
          Disable <Quoted>{apiKey.name}</Quoted>?
        </>
      }
      action="Disable key"
      failure={failure}
      isBusy={isSaving}
      onCancel={onClose}
      onClosed={reset}
      onConfirm={() => change({ base: apiKey, settings: { isDisabled: true }, onSaved: onClose })}
    >
      <p className={classes.words}>
        Requests with this key are rejected immediately, until you enable it again.
      </p>
      <LastUse apiKey={apiKey} />
    </ConfirmDialog>
  );
}
