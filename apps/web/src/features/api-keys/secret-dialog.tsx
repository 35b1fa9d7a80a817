import { Modal } from "@mantine/core";
import { type ReactElement, type ReactNode, useState } from "react";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { NewSecret } from "./new-secret.tsx";
import classes from "./secret-dialog.module.css";

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
  readonly onDirty: (isDirty: boolean) => void;
}

/** Shows a form, and then the secret that it created, once. */
export function SecretDialog({ isOpen, isBusy, title, onClose, form }: SecretDialogProps): ReactElement {
  const [created, setCreated] = useState<CreatedSecret>();
  const [isDirty, setIsDirty] = useState(false);
  const [isCopied, setIsCopied] = useState(false);
  const [isCopyWarningShown, setIsCopyWarningShown] = useState(false);
  const [isDiscardWarningShown, setIsDiscardWarningShown] = useState(false);
  const close = () => {
    onClose();
    setIsDiscardWarningShown(false);
    setCreated(undefined);
    setIsCopied(false);
    setIsCopyWarningShown(false);
  };
  // Warns at the first attempt: Done and Escape are easily pressed too early, and an uncopied
  // secret is lost.
  const closeOrWarnAboutSecret = () =>
    created && !isCopied && !isCopyWarningShown ? setIsCopyWarningShown(true) : close();
  // Also warns at the first attempt.
  const closeOrWarnAboutInput = () =>
    isDirty && !isDiscardWarningShown ? setIsDiscardWarningShown(true) : close();
  return (
    <Modal
      opened={isOpen}
      {...closeUnlessBusy(isBusy, created ? closeOrWarnAboutSecret : closeOrWarnAboutInput)}
      closeOnClickOutside={!created && !isDirty}
      title={created ? "Copy your new key" : title}
      size={created ? 640 : 520}
    >
      {created ? (
        <NewSecret
          {...created}
          isCopied={isCopied}
          isCopyWarningShown={isCopyWarningShown && !isCopied}
          onCopied={() => setIsCopied(true)}
          onDone={closeOrWarnAboutSecret}
        />
      ) : (
        <>
          {isDiscardWarningShown && isDirty && (
            <p className={classes.warning} role="alert">
              Your input isn’t saved. Close the dialog again to discard it.
            </p>
          )}
          {form({
            onCreated: (secret) => {
              setIsDiscardWarningShown(false);
              setCreated(secret);
            },
            onCancel: close,
            onDirty: setIsDirty,
          })}
        </>
      )}
    </Modal>
  );
}
