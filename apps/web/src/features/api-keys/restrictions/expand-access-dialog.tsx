import type { ReactElement, ReactNode } from "react";
import type { Failure } from "../../../server/failure.ts";
import { ConfirmDialog } from "../../../ui/confirm-dialog.tsx";
import classes from "../../../ui/dialog.module.css";
import type { Expansion } from "./describe-restrictions.ts";
import changeClasses from "./expand-access-dialog.module.css";

interface ExpandAccessDialogProps {
  /** The question and the label of the button, for a dialog about one specific change. */
  readonly title?: ReactNode;
  readonly action?: string;
  /** How the change would expand access. The dialog is open if it is defined. */
  readonly expansions: readonly Expansion[] | undefined;
  readonly isSaving: boolean;
  readonly failure: Failure | undefined;
  readonly onConfirm: () => void;
  readonly onCancel: () => void;
}

/** Asks for confirmation before a change expands the access of a key. */
export function ExpandAccessDialog(props: ExpandAccessDialogProps): ReactElement {
  const { title = "Expand this key’s access?", action = "Expand access" } = props;
  const { expansions, isSaving, failure, onConfirm, onCancel } = props;
  return (
    <ConfirmDialog
      isOpen={expansions !== undefined}
      title={title}
      action={action}
      failure={failure}
      isBusy={isSaving}
      onCancel={onCancel}
      onConfirm={onConfirm}
    >
      <p className={classes.words}>Anyone who has this key can immediately do more than before:</p>
      <dl className={classes.facts}>
        {expansions?.map(({ label, before, after }) => (
          <div className={changeClasses.fact} key={label}>
            <dt>{label}</dt>
            <dd>
              <s className={changeClasses.before}>
                <span className="visually-hidden">Before: </span>
                {before}
              </s>
              <strong className={changeClasses.after}>
                <span className="visually-hidden">After: </span>
                {after}
              </strong>
            </dd>
          </div>
        ))}
      </dl>
    </ConfirmDialog>
  );
}
