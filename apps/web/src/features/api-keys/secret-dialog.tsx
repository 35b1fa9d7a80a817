import { type ReactElement, type ReactNode, useState } from "react";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { NewSecret } from "./new-secret.tsx";

export interface CreatedSecret {
  /** The name of the key. */
  readonly name: string;
  /**
   * The secret. It is stored only in the state of the dialog, so that closing or reloading discards
   * it.
   */
  readonly secret: string;
}

interface SecretDialogProps {
  readonly isOpen: boolean;
  /** Whether the request that creates the secret is in progress. */
  readonly isBusy: boolean;
  readonly title: ReactNode;
  readonly onClose: () => void;
  /** Renders the form that creates the secret. */
  readonly form: (props: SecretFormProps) => ReactElement;
}

export interface SecretFormProps {
  readonly onCreated: (created: CreatedSecret) => void;
  readonly onCancel: () => void;
}

/** Shows a form, and then the secret that it created, once. */
export function SecretDialog({ isOpen, isBusy, title, onClose, form }: SecretDialogProps): ReactElement {
  const [created, setCreated] = useState<CreatedSecret>();
  const close = () => {
    onClose();
    setCreated(undefined);
  };
  return (
    <FormDialog
      isOpen={isOpen}
      isBusy={isBusy}
      closeOnClickOutside={!created}
      title={created ? "Copy the new secret" : title}
      size={created ? 640 : 520}
      onClose={close}
    >
      {created ? <NewSecret {...created} onDone={close} /> : form({ onCreated: setCreated, onCancel: close })}
    </FormDialog>
  );
}
