import type { ReactElement, ReactNode } from "react";
import type { Failure } from "../../../server/failure.ts";
import { ConfirmDialog } from "../../../ui/confirm-dialog.tsx";
import classes from "../../../ui/dialog.module.css";
import type { Widening } from "./describe-restrictions.ts";
import wideningClasses from "./widening-dialog.module.css";

interface WideningDialogProps {
  /** What is asked, and what the button does, in words for the one thing that becomes wider. */
  readonly title?: ReactNode;
  readonly action?: string;
  /** What would become wider; the dialog is open while there is something. */
  readonly widened: readonly Widening[] | undefined;
  readonly isSaving: boolean;
  readonly failure: Failure | undefined;
  readonly onConfirm: () => void;
  readonly onCancel: () => void;
}

/** Asks before a key may do what it could not do before. */
export function WideningDialog(props: WideningDialogProps): ReactElement {
  const { title = "Expand this key’s access?", action = "Expand access" } = props;
  const { widened, isSaving, failure, onConfirm, onCancel } = props;
  return (
    <ConfirmDialog
      isOpen={widened !== undefined}
      title={title}
      action={action}
      failure={failure}
      isBusy={isSaving}
      onCancel={onCancel}
      onConfirm={onConfirm}
    >
      <p className={classes.words}>
        From its next request on, whoever has this key may do what they could not do before:
      </p>
      <dl className={classes.facts}>
        {widened?.map(({ label, before, after }) => (
          <div className={wideningClasses.fact} key={label}>
            <dt>{label}</dt>
            <dd>
              <s className={wideningClasses.before}>
                <span className="visually-hidden">Before: </span>
                {before}
              </s>
              <strong className={wideningClasses.after}>
                <span className="visually-hidden">From now on: </span>
                {after}
              </strong>
            </dd>
          </div>
        ))}
      </dl>
    </ConfirmDialog>
  );
}
