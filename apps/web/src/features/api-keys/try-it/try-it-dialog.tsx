import type { ReactElement } from "react";
import { FormDialog } from "../../../ui/form-dialog.tsx";
import { SecretField } from "../../../ui/secret-field.tsx";
import classes from "./try-it.module.css";
import { TryIt, type TryItForm } from "./try-it.tsx";

interface TryItDialogProps {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Closing the dialog unmounts the form, which discards the pasted key. */
export function TryItDialog({ isOpen, onClose }: TryItDialogProps): ReactElement {
  return (
    <FormDialog
      isOpen={isOpen}
      isBusy={false}
      title="Try a key"
      size={640}
      onClose={onClose}
      closeOnClickOutside={false}
    >
      <TryIt keyField={renderKeyField} />
    </FormDialog>
  );
}

function renderKeyField(form: TryItForm): ReactElement {
  return (
    <SecretField
      {...form.getInputProps("key")}
      key={form.key("key")}
      label="API key"
      description="The key is checked but neither stored nor logged, and no use is counted."
      placeholder="lk_…"
      classNames={{ innerInput: classes.mono ?? "" }}
      autoComplete="off"
      data-1p-ignore
      data-lpignore="true"
      data-bwignore
      spellCheck={false}
      data-autofocus
    />
  );
}
