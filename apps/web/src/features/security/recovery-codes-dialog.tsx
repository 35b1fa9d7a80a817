import { Button, Group, Modal } from "@mantine/core";
import { type ReactElement, useState } from "react";
import { CopyButton } from "../../ui/copy-button.tsx";
import dialogClasses from "../../ui/dialog.module.css";
import { useUncopiedSecrets } from "../../ui/uncopied-secrets.ts";
import classes from "./recovery-codes-dialog.module.css";

const recoveryCodes = ["recovery codes"];

interface RecoveryCodesDialogProps {
  /** The dialog is open if they are defined. */
  readonly codes: readonly string[] | undefined;
  readonly onClose: () => void;
}

/** Shows new recovery codes, which can't be shown again. */
export function RecoveryCodesDialog({ codes, onClose }: RecoveryCodesDialogProps): ReactElement {
  const [isCopied, setCopied] = useState(false);
  useUncopiedSecrets(codes && !isCopied ? recoveryCodes : []);
  return (
    <Modal
      opened={codes !== undefined}
      onClose={onClose}
      onExitTransitionEnd={() => setCopied(false)}
      // The codes can't be shown again, so only the button closes the dialog.
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
      title="Your recovery codes"
      size={480}
    >
      <p className={dialogClasses.words}>
        Store these codes in a safe place, such as a password manager. Each one works once instead of a code
        from your device. They won’t be shown again.
      </p>
      <ol className={classes.codes} onCopy={() => setCopied(true)}>
        {codes?.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ol>
      <Group justify="flex-end" gap={8}>
        <CopyButton
          text={codes?.join("\n") ?? ""}
          label="Copy recovery codes"
          hasText
          isPrimary={!isCopied}
          hasAutofocus
          onCopied={() => setCopied(true)}
        />
        <Button variant={isCopied ? "filled" : "default"} onClick={onClose}>
          Done
        </Button>
      </Group>
    </Modal>
  );
}
