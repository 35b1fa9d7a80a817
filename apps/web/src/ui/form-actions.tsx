import { Button, Group } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import { BusyButton } from "./busy-button.tsx";
import classes from "./dialog.module.css";

interface FormActionsProps {
  /** The label of the button that submits the form. */
  readonly action: ReactNode;
  readonly isBusy: boolean;
  /** Keeps the buttons visible, for a form that can be long. */
  readonly isSticky?: boolean;
  /** For an action that removes something. */
  readonly isDangerous?: boolean;
  readonly onCancel: () => void;
}

/** The buttons of a form in a dialog. */
export function FormActions(props: FormActionsProps): ReactElement {
  const { action, isBusy, isSticky = false, isDangerous = false, onCancel } = props;
  return (
    <Group {...(isSticky && { className: classes.foot })} justify="flex-end" gap={8}>
      <Button variant="default" onClick={onCancel} disabled={isBusy}>
        Cancel
      </Button>
      <BusyButton type="submit" {...(isDangerous && { className: classes.danger })} loading={isBusy}>
        {action}
      </BusyButton>
    </Group>
  );
}
