import { Button } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import { DangerRow } from "./danger-row.tsx";

interface StatusRowProps {
  /** What the page shows, such as "key". */
  readonly noun: string;
  readonly isDisabled: boolean;
  /** What the action does. */
  readonly children: ReactNode;
  /** Opens the confirmation. */
  readonly onChange: () => void;
}

/** The row of a danger zone that disables what the page shows, or enables it again. */
export function StatusRow({ noun, isDisabled, children, onChange }: StatusRowProps): ReactElement {
  const verb = isDisabled ? "Enable" : "Disable";
  return (
    <DangerRow
      title={`${verb} this ${noun}`}
      action={
        // One button for both actions, so that it keeps the focus after a change.
        <Button variant="default" flex="none" onClick={onChange}>
          {verb} {noun}
        </Button>
      }
    >
      {children}
    </DangerRow>
  );
}
