import { Button, Group } from "@mantine/core";
import { type ReactElement, useContext } from "react";
import { CodeLine } from "../../ui/code-line.tsx";
import dialogClasses from "../../ui/dialog.module.css";
import { CurrentCloseGuard, useUncopiedSecrets } from "../../ui/uncopied-secrets.ts";
import classes from "./webhook-secret.module.css";

interface WebhookSecretProps {
  readonly secret: string;
  readonly onDone: () => void;
}

const secretNames = ["secret"];

/** Shows the secret of a webhook, which can't be shown again. */
export function WebhookSecret({ secret, onDone }: WebhookSecretProps): ReactElement {
  const { attempt } = useContext(CurrentCloseGuard);
  const { isWarningShown, onCopied } = useUncopiedSecrets(secretNames);
  return (
    <>
      <p className={dialogClasses.words}>
        Your server verifies messages with this secret. Copy it now, and store it like a password. It won’t be
        shown again.
      </p>
      <div className={dialogClasses.code}>
        <CodeLine code={secret} copyLabel="Copy secret" hasAutofocus onCopied={() => onCopied("secret")} />
      </div>
      <p className={classes.warning} role="alert">
        {isWarningShown &&
          "You haven’t copied the secret, and it won’t be shown again. To close without copying it, select Done."}
      </p>
      <Group justify="flex-end">
        <Button onClick={() => attempt(onDone)}>Done</Button>
      </Group>
    </>
  );
}
