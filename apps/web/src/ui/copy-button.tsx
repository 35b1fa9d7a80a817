import { ActionIcon, Button, Tooltip } from "@mantine/core";
import { useTimeout } from "@mantine/hooks";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import { type ReactElement, useState } from "react";
import { copyText } from "./copy-text.ts";

const confirmationMilliseconds = 2_000;

interface CopyButtonProps {
  readonly text: string;
  /** The accessible name, such as "Copy API key". */
  readonly label: string;
  /** Whether the button shows words beside its icon. */
  readonly hasWords?: boolean;
  /** Whether it is what to do next; only with words. */
  readonly isPrimary?: boolean;
  /** Whether it takes the focus when it appears. */
  readonly isFirst?: boolean;
  readonly onCopied?: () => void;
}

type Outcome = "none" | "copied" | "failed";
const words: Readonly<Record<Outcome, string>> = {
  none: "Copy",
  copied: "Copied",
  failed: "Select the text and copy it by hand",
};

/** Copies a text and says for a moment that it did. Its name stays the same, so that focus can stay too. */
export function CopyButton({
  text,
  label,
  hasWords = false,
  isPrimary = false,
  isFirst = false,
  onCopied,
}: CopyButtonProps): ReactElement {
  const [outcome, setOutcome] = useState<Outcome>("none");
  const { start } = useTimeout(() => setOutcome("none"), confirmationMilliseconds);
  const copy = async () => {
    const isCopied = await copyText(text);
    setOutcome(isCopied ? "copied" : "failed");
    if (isCopied) onCopied?.();
    start();
  };
  const icon = outcome === "copied" ? <IconCheck size={16} /> : <IconCopy size={16} />;
  return (
    <>
      <Tooltip
        label={words[outcome]}
        {...(outcome === "failed" && { opened: true })}
        disabled={hasWords && outcome !== "failed"}
      >
        {hasWords ? (
          <Button
            variant={isPrimary ? "filled" : "default"}
            leftSection={icon}
            onClick={copy}
            aria-label={label}
            miw={104}
            autoFocus={isFirst}
          >
            {outcome === "copied" ? words.copied : words.none}
          </Button>
        ) : (
          <ActionIcon variant="subtle" color="gray" onClick={copy} aria-label={label}>
            {icon}
          </ActionIcon>
        )}
      </Tooltip>
      <span role="status" className="visually-hidden">
        {outcome === "none" ? "" : words[outcome]}
      </span>
    </>
  );
}
