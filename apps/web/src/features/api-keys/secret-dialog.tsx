import { Modal } from "@mantine/core";
import { type ReactElement, type ReactNode, useState } from "react";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { NewSecret } from "./new-secret.tsx";
import classes from "./secret-dialog.module.css";

export interface CreatedSecret {
  /** Of the key that it is for. */
  readonly name: string;
  /** The key itself. It is in the dialog's state and nowhere else, so that closing or reloading forgets it. */
  readonly secret: string;
}

interface SecretDialogProps {
  readonly isOpen: boolean;
  /** Whether the call for the secret is under way. */
  readonly isBusy: boolean;
  readonly title: ReactNode;
  readonly onClose: () => void;
  /** What is filled in before there is a secret. */
  readonly form: (facts: SecretFormProps) => ReactElement;
}

export interface SecretFormProps {
  readonly onCreated: (created: CreatedSecret) => void;
  readonly onCancel: () => void;
  readonly onDirty: (isDirty: boolean) => void;
}

/** A form, and then the secret that came of it, once. */
export function SecretDialog({ isOpen, isBusy, title, onClose, form }: SecretDialogProps): ReactElement {
  const [created, setCreated] = useState<CreatedSecret>();
  const [isDirty, setIsDirty] = useState(false);
  const [isCopied, setIsCopied] = useState(false);
  const [isWarned, setIsWarned] = useState(false);
  const [isDiscardAsked, setIsDiscardAsked] = useState(false);
  const close = () => {
    onClose();
    setIsDiscardAsked(false);
    setCreated(undefined);
    setIsCopied(false);
    setIsWarned(false);
  };
  // "Done" and Escape are easily pressed too early, and a key that was not copied is lost.
  const closeUnlessUncopied = () => (created && !isCopied && !isWarned ? setIsWarned(true) : close());
  // Typed input is as easily lost.
  const closeUnlessTyped = () => (isDirty && !isDiscardAsked ? setIsDiscardAsked(true) : close());
  return (
    <Modal
      opened={isOpen}
      {...closeUnlessBusy(isBusy, created ? closeUnlessUncopied : closeUnlessTyped)}
      closeOnClickOutside={!created && !isDirty}
      title={created ? "Copy your new key" : title}
      size={created ? 640 : 520}
    >
      {created ? (
        <NewSecret
          {...created}
          isCopied={isCopied}
          isWarned={isWarned && !isCopied}
          onCopied={() => setIsCopied(true)}
          onDone={closeUnlessUncopied}
        />
      ) : (
        <>
          {isDiscardAsked && isDirty && (
            <p className={classes.warning} role="alert">
              Your input isn’t saved. Press Escape again to discard it.
            </p>
          )}
          {form({
            onCreated: (secret) => {
              setIsDiscardAsked(false);
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
