import { Button, Group } from "@mantine/core";
import type { ReactElement } from "react";
import { CodeLine } from "../../ui/code-line.tsx";
import classes from "../../ui/dialog.module.css";

interface WebhookSecretProps {
  readonly secret: string;
  readonly onDone: () => void;
}

/** Shows the secret of a webhook, which can't be shown again. */
export function WebhookSecret({ secret, onDone }: WebhookSecretProps): ReactElement {
  return (
    <>
      <p className={classes.words}>
        Your server verifies messages with this secret. Copy it now, and store it like a password. It won’t be
        shown again.
      </p>
      <div className={classes.code}>
        <CodeLine code={secret} copyLabel="Copy secret" />
      </div>
      <Group justify="flex-end">
        <Button onClick={onDone} data-autofocus>
          Done
        </Button>
      </Group>
    </>
  );
}
