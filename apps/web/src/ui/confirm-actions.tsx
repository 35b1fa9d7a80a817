import { Button, Group } from "@mantine/core";
import type { ReactElement, ReactNode, Ref } from "react";
import { BusyButton } from "./busy-button.tsx";
import classes from "./dialog.module.css";
import { FormFailure, type FormFailureProps } from "./form-failure.tsx";

export interface ConfirmActionsProps {
  /** The label of the button that confirms. */
  readonly action: ReactNode;
  /** The label of the button that changes nothing; "Cancel" by default. */
  readonly cancelLabel?: string;
  /** The button that changes nothing. */
  readonly cancelRef?: Ref<HTMLButtonElement>;
  /** The failure of the last attempt. */
  readonly failure: FormFailureProps | undefined;
  readonly isBusy: boolean;
  /** Whether another call of the dialog is in flight, whose result the dialog shows; false by default. */
  readonly isDisabled?: boolean;
  /** Whether the user can only cancel, for a reason that the dialog shows; false by default. */
  readonly isActionDisabled?: boolean;
  /** Keeps the buttons visible, for a dialog that can be long. */
  readonly isSticky?: boolean;
  /** False for an action that removes nothing; true by default. */
  readonly isDangerous?: boolean;
  readonly onCancel: () => void;
  readonly onConfirm: () => void;
}

/** The buttons of a confirmation dialog. The focus starts on the one that changes nothing. */
export function ConfirmActions(props: ConfirmActionsProps): ReactElement {
  const { action, cancelLabel = "Cancel", cancelRef = null, failure, isBusy, isSticky = false } = props;
  const { isDisabled = false, isActionDisabled = false, isDangerous = true, onCancel, onConfirm } = props;
  return (
    <>
      {failure && (
        <div className={classes.failure}>
          <FormFailure message={failure.message} requestId={failure.requestId} />
        </div>
      )}
      <Group {...(isSticky && { className: classes.foot })} justify="flex-end" gap={8}>
        <Button
          ref={cancelRef}
          variant="default"
          onClick={onCancel}
          disabled={isBusy || isDisabled}
          data-autofocus
        >
          {cancelLabel}
        </Button>
        <BusyButton
          {...(isDangerous && { className: classes.danger })}
          loading={isBusy}
          disabled={isDisabled || isActionDisabled}
          onClick={onConfirm}
        >
          {action}
        </BusyButton>
      </Group>
    </>
  );
}
