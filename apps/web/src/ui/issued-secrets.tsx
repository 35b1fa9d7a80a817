import { Button, Group } from "@mantine/core";
import { type ReactElement, useContext } from "react";
import type { IssuedTexts } from "./bulk-change.ts";
import { CodeLine } from "./code-line.tsx";
import { CopyButton } from "./copy-button.tsx";
import { countOf } from "./count.ts";
import dialogClasses from "./dialog.module.css";
import classes from "./issued-secrets.module.css";
import { CurrentCloseGuard, useUncopiedSecrets } from "./uncopied-secrets.ts";

export interface IssuedSecret {
  /** Of the item, unique. */
  readonly name: string;
  readonly secret: string;
}

interface IssuedSecretsProps {
  readonly texts: IssuedTexts;
  readonly secrets: readonly IssuedSecret[];
  readonly onDone: () => void;
}

/** Shows secrets that can't be shown again, to copy one by one or all together, each after the name of its item. */
export function IssuedSecrets({ texts, secrets, onDone }: IssuedSecretsProps): ReactElement {
  const { nouns, explanation } = texts;
  const [singular, plural] = nouns;
  const { attempt } = useContext(CurrentCloseGuard);
  const { uncopiedCount, isWarningShown, onCopied } = useUncopiedSecrets(secrets.map(({ name }) => name));
  const copyAll = () => {
    for (const { name } of secrets) onCopied(name);
  };
  return (
    <>
      <p className={dialogClasses.words}>{explanation}</p>
      <ul className={classes.secrets}>
        {secrets.map(({ name, secret }, index) => (
          <li key={name}>
            <strong>
              <bdi>{name}</bdi>
            </strong>
            <CodeLine
              code={secret}
              copyLabel={`Copy the ${singular} for ${name}`}
              hasAutofocus={index === 0}
              onCopied={() => onCopied(name)}
            />
          </li>
        ))}
      </ul>
      <p className={classes.warning} role="alert">
        {isWarningShown &&
          `You haven’t copied ${countOf(uncopiedCount, singular, plural)}, and ${uncopiedCount === 1 ? "it" : "they"} won’t be shown again. To close without copying, try again.`}
      </p>
      <Group justify="flex-end" gap={8}>
        {secrets.length > 1 && <CopyAll plural={plural} secrets={secrets} onCopied={copyAll} />}
        <Button onClick={() => attempt(onDone)}>Done</Button>
      </Group>
    </>
  );
}

/** One line per secret: the name, a tab and the secret, so that it can be pasted into a table. */
function CopyAll({
  plural,
  secrets,
  onCopied,
}: {
  readonly plural: string;
  readonly secrets: readonly IssuedSecret[];
  readonly onCopied: () => void;
}): ReactElement {
  const text = secrets.map(({ name, secret }) => `${name}\t${secret}`).join("\n");
  return <CopyButton text={text} label={`Copy all ${plural}`} onCopied={onCopied} />;
}
