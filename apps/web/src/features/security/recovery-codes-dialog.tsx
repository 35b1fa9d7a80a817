import { Button, Group } from "@mantine/core";
import { type ReactElement, useContext } from "react";
import { CopyButton } from "../../ui/copy-button.tsx";
import dialogClasses from "../../ui/dialog.module.css";
import { FormDialog } from "../../ui/form-dialog.tsx";
import secretClasses from "../../ui/issued-secrets.module.css";
import { CurrentCloseGuard, useUncopiedSecrets } from "../../ui/uncopied-secrets.ts";
import classes from "./recovery-codes-dialog.module.css";

const name = "recovery codes";
const names = [name];

interface RecoveryCodesDialogProps {
  /** The dialog is open if they are defined. */
  readonly codes: readonly string[] | undefined;
  readonly onClose: () => void;
}

/** Shows new recovery codes, which can't be shown again. */
export function RecoveryCodesDialog({ codes, onClose }: RecoveryCodesDialogProps): ReactElement {
  return (
    <FormDialog
      isOpen={codes !== undefined}
      isBusy={false}
      closeOnClickOutside={false}
      title="Your recovery codes"
      size={480}
      onClose={onClose}
    >
      {codes && <RecoveryCodes codes={codes} onDone={onClose} />}
    </FormDialog>
  );
}

interface RecoveryCodesProps {
  readonly codes: readonly string[];
  readonly onDone: () => void;
}

function RecoveryCodes({ codes, onDone }: RecoveryCodesProps): ReactElement {
  const { attempt } = useContext(CurrentCloseGuard);
  const { uncopiedCount, isWarningShown, onCopied } = useUncopiedSecrets(names);
  const isCopied = uncopiedCount === 0;
  return (
    <>
      <p className={dialogClasses.words}>
        Store these codes in a safe place, such as a password manager. Each one works once instead of your
        authenticator app or passkey. They won’t be shown again.
      </p>
      <ol className={classes.codes} onCopy={() => onCopied(name)}>
        {codes.map((code) => (
          <li key={code}>
            <code>{code}</code>
          </li>
        ))}
      </ol>
      <p className={secretClasses.warning} role="alert">
        {isWarningShown &&
          "You haven’t copied the recovery codes, and they won’t be shown again. To close without copying them, select Done."}
      </p>
      <Group justify="flex-end" gap={8}>
        <CopyButton
          text={codes.join("\n")}
          label="Copy recovery codes"
          hasText
          isPrimary={!isCopied}
          hasAutofocus
          onCopied={() => onCopied(name)}
        />
        <Button variant={isCopied ? "filled" : "default"} onClick={() => attempt(onDone)}>
          Done
        </Button>
      </Group>
    </>
  );
}
