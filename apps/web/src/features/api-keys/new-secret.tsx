import { Button, Group, Textarea } from "@mantine/core";
import { useSuspenseQuery } from "@tanstack/react-query";
import { type ReactElement, useContext } from "react";
import { trpc } from "../../server/trpc.ts";
import { CodeLine } from "../../ui/code-line.tsx";
import { CopyButton } from "../../ui/copy-button.tsx";
import { curlLine } from "../../ui/curl-line.ts";
import { CurrentCloseGuard, useUncopiedSecrets } from "../../ui/uncopied-secrets.ts";
import classes from "./new-secret.module.css";

interface NewSecretProps {
  readonly name: string;
  readonly secret: string;
  readonly onDone: () => void;
}

/** Shows a new secret, which can't be shown again. */
export function NewSecret({ name, secret, onDone }: NewSecretProps): ReactElement {
  const { attempt } = useContext(CurrentCloseGuard);
  const secrets = useUncopiedSecrets([name]);
  const isCopied = secrets.uncopiedCount === 0;
  const onCopied = () => secrets.onCopied(name);
  const { data: instance } = useSuspenseQuery(trpc.instance.get.queryOptions());
  return (
    <div className={classes.secret}>
      <p className={classes.words}>
        Copy the API key{" "}
        <strong>
          <bdi>{name}</bdi>
        </strong>{" "}
        now, and store it like a password. It won’t be shown again.
      </p>
      <div className={classes.field}>
        <Textarea
          className={classes.input}
          classNames={{ input: classes.text ?? "" }}
          label="API key"
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
          label="Copy API key"
          hasText
          isPrimary={!isCopied}
          hasAutofocus
          onCopied={onCopied}
        />
      </div>
      <div>
        <p className={classes.label}>Try it</p>
        <CodeLine code={curlLine(instance.baseUrl, secret)} copyLabel="Copy command" onCopied={onCopied} />
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
