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
  /** Whether the button shows text next to its icon. */
  readonly hasText?: boolean;
  /** Whether this is the primary action; only with text. */
  readonly isPrimary?: boolean;
  /** Whether the button takes the focus when it appears. */
  readonly hasAutofocus?: boolean;
  readonly onCopied?: () => void;
}

type Outcome = "none" | "copied" | "failed";
const statusTexts: Readonly<Record<Outcome, string>> = {
  none: "Copy",
  copied: "Copied",
  failed: "Select the text and copy it manually",
};

/**
 * Copies a text and confirms it for two seconds. The accessible name stays the same, because the
 * button keeps the focus.
 */
export function CopyButton({
  text,
  label,
  hasText = false,
  isPrimary = false,
  hasAutofocus = false,
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
  // A dialog that opens focuses the element with `data-autofocus`, and React focuses one that appears later.
  const focus = hasAutofocus && { "data-autofocus": true, autoFocus: true };
  const icon = outcome === "copied" ? <IconCheck size={16} /> : <IconCopy size={16} />;
  return (
    <>
      <Tooltip
        label={statusTexts[outcome]}
        {...(outcome === "failed" && { opened: true })}
        disabled={hasText && outcome !== "failed"}
      >
        {hasText ? (
          <Button
            variant={isPrimary ? "filled" : "default"}
            leftSection={icon}
            onClick={copy}
            aria-label={label}
            miw={104}
            {...focus}
          >
            {outcome === "copied" ? statusTexts.copied : statusTexts.none}
          </Button>
        ) : (
          <ActionIcon variant="subtle" color="gray" onClick={copy} aria-label={label} {...focus}>
            {icon}
          </ActionIcon>
        )}
      </Tooltip>
      <span role="status" className="visually-hidden">
        {outcome === "none" ? "" : statusTexts[outcome]}
      </span>
    </>
  );
}
