import type { ReactElement } from "react";
import type { ApiKey } from "../../server/trpc.ts";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import classes from "../../ui/dialog.module.css";
import { Quoted } from "../../ui/quoted.tsx";
import { useKeyChange } from "./use-key-change.ts";

interface EnableDialogProps {
  readonly apiKey: ApiKey;
  readonly isOpen: boolean;
  readonly onClose: () => void;
  readonly onEnabled?: () => void;
}

/** Explains the consequences before a key is enabled. */
export function EnableDialog({ apiKey, isOpen, onClose, onEnabled }: EnableDialogProps): ReactElement {
  const { change, isSaving, failure, reset } = useKeyChange();
  const enable = () =>
    change({
      base: apiKey,
      settings: { isDisabled: false },
      isConfirmed: true,
      onSaved: () => {
        onClose();
        onEnabled?.();
      },
    });
  return (
    <ConfirmDialog
      isOpen={isOpen}
      title={
        <>
          Enable <Quoted>{apiKey.name}</Quoted>?
        </>
      }
      action="Enable key"
      isDangerous={false}
      failure={failure}
      isBusy={isSaving}
      onCancel={onClose}
      onClosed={reset}
      onConfirm={enable}
    >
      <p className={classes.words}>
        Requests with this key are allowed again immediately, with the same restrictions.
      </p>
    </ConfirmDialog>
  );
}
