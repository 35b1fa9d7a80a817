import { Button, Group, Textarea } from "@mantine/core";
import { type ReactElement, type ReactNode, useContext } from "react";
import { CodeLine } from "./code-line.tsx";
import { CopyButton } from "./copy-button.tsx";
import classes from "./new-secret.module.css";
import { CurrentCloseGuard, useUncopiedSecrets } from "./uncopied-secrets.ts";

/** What a secret is, and how to try it. */
export interface SecretKind {
  /** Such as "API key". */
  readonly noun: string;
  /** A sentence on what the secret is for. */
  readonly purpose?: string;
  /** The command to try it. */
  readonly command?: {
    readonly title: string;
    /** A line below the command. */
    readonly help?: ReactNode;
    /** What has become of the secret so far. */
    readonly status?: ReactNode;
    readonly lineOf: (secret: string) => string;
  };
}

interface NewSecretProps {
  /** The name of what the secret belongs to; empty for none. */
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
  const { noun, purpose, command } = kind;
  return (
    <div className={classes.secret}>
      <p className={classes.words}>
        {purpose} Copy the {noun}{" "}
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
      {command && (
        <div>
          <p className={classes.label}>{command.title}</p>
          <CodeLine code={command.lineOf(secret)} copyLabel="Copy command" onCopied={onCopied} />
          {command.help && <p className={classes.help}>{command.help}</p>}
          {command.status}
        </div>
      )}
      <Group justify="space-between" gap={8} wrap="nowrap">
        <p className={classes.warning} role="alert">
          {secrets.isWarningShown &&
            `You haven’t copied the ${noun}, and it won’t be shown again. To close without copying it, select Done.`}
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
