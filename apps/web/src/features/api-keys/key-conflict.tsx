import type { ReactElement } from "react";
import classes from "../../ui/dialog.module.css";
import { FormFailure } from "../../ui/form-failure.tsx";

/** Reports that the key was changed elsewhere while the user edited it. */
export function KeyConflict(): ReactElement {
  return (
    <div className={classes.failure}>
      <FormFailure message="This key was changed in another window or by a command, so your changes weren’t saved. The current settings are shown below." />
    </div>
  );
}
