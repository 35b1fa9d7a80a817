import { Button, Group } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import classes from "./dialog.module.css";
import { FormFailure, type FormFailureProps } from "./form-failure.tsx";

export interface ConfirmAnswerProps {
  /** What the button does, in its words. */
  readonly action: ReactNode;
  /** Why it was not done, at the last try. */
  readonly failure: FormFailureProps | undefined;
  readonly isBusy: boolean;
  /** False for an action that takes nothing away; true by default. */
  readonly isDangerous?: boolean;
  readonly onCancel: () => void;
  readonly onConfirm: () => void;
}

/** The foot of a dialog that asks before something is done. The focus starts where nothing is lost. */
export function ConfirmAnswer(props: ConfirmAnswerProps): ReactElement {
  const { action, failure, isBusy, isDangerous = true, onCancel, onConfirm } = props;
  return (
    <>
      {failure && (
        <div className={classes.failure}>
          <FormFailure message={failure.message} requestId={failure.requestId} />
        </div>
      )}
      <Group justify="flex-end" gap={8}>
        <Button variant="default" onClick={onCancel} disabled={isBusy} data-autofocus>
          Cancel
        </Button>
        <Button {...(isDangerous && { className: classes.danger })} loading={isBusy} onClick={onConfirm}>
          {action}
        </Button>
      </Group>
    </>
  );
}
