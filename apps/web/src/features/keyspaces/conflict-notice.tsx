import type { ReactElement } from "react";
import { FormFailure } from "../../ui/form-failure.tsx";

/** Reports that what the user edits was changed elsewhere in the meantime. */
export function ConflictNotice({ noun }: { readonly noun: string }): ReactElement {
  return (
    <FormFailure
      message={`The ${noun} was changed in another window or by someone else, so your changes weren’t saved. The current settings are shown below.`}
    />
  );
}
