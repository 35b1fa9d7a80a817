import { Button, Group, Textarea } from "@mantine/core";
import { type ReactElement, type ReactNode, useContext } from "react";
import { CodeLine } from "./code-line.tsx";
import { CopyButton } from "./copy-button.tsx";
import classes from "./new-secret.module.css";
import { CurrentCloseGuard, useUncopiedSecrets } from "./uncopied-secrets.ts";

/** What a secret belongs to, and the command to try it. */
export interface SecretKind {
  /** Such as "API key". */
  readonly noun: string;
  readonly commandTitle: string;
  /** A line below the command. */
  readonly commandHelp?: ReactNode;
  /** What has become of the secret so far. */
  readonly status?: ReactNode;
  readonly command: (secret: string) => string;
}

interface NewSecretProps {
  /** Empty for none. */
  readonly name: string;
  readonly kind: SecretKind;
  readonly secret: string;
  readonly onDone: () => void;
}

/** Shows a new secret, which can't be shown again. */
export function NewSecret({ name, secret, kind, onDone }: NewSecretProps): ReactElement {
  const { attempt } = useContext(CurrentCloseGuard);
  const secrets = useUncopiedSecrets([name]);
  const isCopied = secrets.uncopiedCount === 0;
  const onCopied = () => secrets.onCopied(name);
  const { noun, commandTitle, commandHelp, status, command } = kind;
  return (
    <div className={classes.secret}>
      <p className={classes.words}>
        Copy the {noun}{" "}
        {name !== "" && (
          <>
            <strong>
              <bdi>{name}</bdi>
            </strong>{" "}
          </>
        )}
        now, and store it like a password. It won’t be shown again.
      </p>
      <div className={classes.field}>
        <Textarea
          className={classes.input}
          classNames={{ input: classes.text ?? "" }}
          label={capitalize(noun)}
          value={secret}
          readOnly
          autosize
          minRows={1}
          spellCheck={false}
          onFocus={(event) => event.currentTarget.select()}
          onCopy={onCopied}
        />
        <CopyButton
          text={secret}
          label={`Copy ${noun}`}
          hasText
          isPrimary={!isCopied}
          hasAutofocus
          onCopied={onCopied}
        />
      </div>
      <div>
        <p className={classes.label}>{commandTitle}</p>
        <CodeLine code={command(secret)} copyLabel="Copy command" onCopied={onCopied} />
        {commandHelp && <p className={classes.help}>{commandHelp}</p>}
        {status}
      </div>
      <Group justify="space-between" gap={8} wrap="nowrap">
        <p className={classes.warning} role="alert">
          {secrets.isWarningShown &&
            "You haven’t copied the key, and it won’t be shown again. To close without copying it, select Done."}
        </p>
        <Button variant={isCopied ? "filled" : "default"} onClick={() => attempt(onDone)} flex="none">
          Done
        </Button>
      </Group>
    </div>
  );
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
