import { type ReactElement, type ReactNode, useState } from "react";
import { FormDialog } from "./form-dialog.tsx";
import { NewSecret, type SecretKind } from "./new-secret.tsx";
import { usePendingSecrets } from "./uncopied-secrets.ts";

export interface CreatedSecret {
  /** The name of what the secret belongs to; empty for none. */
  readonly name: string;
  /**
   * The secret. It is stored only in the state of the dialog, so that closing or reloading discards
   * it.
   */
  readonly secret: string;
}

export interface SecretDialogProps {
  readonly isOpen: boolean;
  /** Whether the request that creates the secret is in progress. */
  readonly isBusy: boolean;
  readonly title: ReactNode;
  readonly kind: SecretKind;
  readonly onClose: () => void;
  /** Renders the form that creates the secret. */
  readonly form: (props: SecretFormProps) => ReactElement;
}

export interface SecretFormProps {
  readonly onCreated: (created: CreatedSecret) => void;
  readonly onCancel: () => void;
}

/** Shows a form, and then the secret that it created, once. */
export function SecretDialog(props: SecretDialogProps): ReactElement {
  const { isOpen, isBusy, title, kind, onClose, form } = props;
  const [created, setCreated] = useState<CreatedSecret>();
  usePendingSecrets(isBusy);
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
      {created ? (
        <NewSecret {...created} kind={kind} onDone={close} />
      ) : (
        form({ onCreated: setCreated, onCancel: close })
      )}
    </FormDialog>
  );
}
