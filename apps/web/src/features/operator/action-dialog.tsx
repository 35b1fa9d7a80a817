import { useIsMutating } from "@tanstack/react-query";
import type { ReactElement, ReactNode } from "react";
import { describeFailure } from "../../server/failure.ts";
import { ConfirmActions } from "../../ui/confirm-actions.tsx";
import classes from "../../ui/dialog.module.css";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { Quoted } from "../../ui/quoted.tsx";

/** What a dialog says about an action on a user or a workspace. */
export interface ActionWording {
  readonly title: (name: ReactNode) => ReactNode;
  readonly effect: string;
  readonly button: string;
  readonly done: (name: string) => string;
  readonly isDangerous: boolean;
}

interface ActionDialogProps {
  /** The dialog is open if it is defined. */
  readonly wording: ActionWording | undefined;
  /** The name of the user or the workspace. */
  readonly name: string | undefined;
  /** The key of the mutation during which the dialog can't be closed. */
  readonly mutationKey: readonly string[];
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** The dialog in which an operator confirms an action. */
export function ActionDialog(props: ActionDialogProps): ReactElement {
  const { wording, name, mutationKey, onClose, children } = props;
  const isBusy = useIsMutating({ mutationKey }) > 0;
  return (
    <FormDialog
      isOpen={wording !== undefined}
      isBusy={isBusy}
      title={wording?.title(<Quoted>{name ?? ""}</Quoted>)}
      size={520}
      onClose={onClose}
    >
      {children}
    </FormDialog>
  );
}

interface ActionConfirmationProps {
  readonly wording: ActionWording;
  /** Why the action, or loading the facts, failed; null if neither did. */
  readonly error: unknown;
  readonly isBusy: boolean;
  /** Whether facts are still loading. */
  readonly isLoading?: boolean;
  /** A sentence below the facts. */
  readonly note?: string;
  readonly onCancel: () => void;
  readonly onConfirm: () => void;
  /** The facts, as terms with their definitions. */
  readonly children: ReactNode;
}

/** Shows what an action does, and to whom, with the buttons that perform or cancel it. */
export function ActionConfirmation(props: ActionConfirmationProps): ReactElement {
  const { wording, error, isBusy, isLoading = false, note, onCancel, onConfirm, children } = props;
  return (
    <>
      <p className={classes.words}>{wording.effect}</p>
      <dl className={classes.facts} aria-busy={isLoading}>
        {children}
      </dl>
      {note && <p className={classes.words}>{note}</p>}
      <ConfirmActions
        action={wording.button}
        failure={error ? describeFailure(error) : undefined}
        isBusy={isBusy}
        isDangerous={wording.isDangerous}
        onCancel={onCancel}
        onConfirm={onConfirm}
      />
    </>
  );
}
