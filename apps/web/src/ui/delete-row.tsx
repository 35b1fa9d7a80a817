import { Button } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import { DangerRow } from "./danger-row.tsx";
import dialogClasses from "./dialog.module.css";

interface DeleteRowProps {
  /** What the page shows, such as "key". */
  readonly noun: string;
  /** What the deletion does. */
  readonly children: ReactNode;
  /** Opens the confirmation. */
  readonly onDelete: () => void;
}

/** The row of a danger zone that deletes what the page shows. */
export function DeleteRow({ noun, children, onDelete }: DeleteRowProps): ReactElement {
  return (
    <DangerRow
      title={`Delete this ${noun}`}
      action={
        <Button className={dialogClasses.danger} flex="none" onClick={onDelete}>
          Delete {noun}
        </Button>
      }
    >
      {children}
    </DangerRow>
  );
}
