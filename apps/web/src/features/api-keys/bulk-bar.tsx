import { Button } from "@mantine/core";
import { type ReactElement, useState } from "react";
import type { ListedApiKey } from "../../server/trpc.ts";
import { countOf } from "../../ui/count.ts";
import dialogClasses from "../../ui/dialog.module.css";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import classes from "./bulk-bar.module.css";
import type { BulkAction } from "./bulk-dialog.tsx";

const bulkDialog = {
  load: () => import("./bulk-dialog.tsx").then((module) => module.BulkDialog),
  closed: { action: undefined },
};

interface BulkBarProps {
  /** The selected keys. */
  readonly apiKeys: readonly ListedApiKey[];
  readonly onClear: () => void;
}

/** The actions for all selected keys. Renders nothing if no key is selected. */
export function BulkBar({ apiKeys, onClear }: BulkBarProps): ReactElement | null {
  const [action, setAction] = useState<BulkAction>();
  if (apiKeys.length === 0) return null;
  const hasEnabled = apiKeys.some(({ isDisabled }) => !isDisabled);
  return (
    <div className={classes.bar}>
      <span role="status">{countOf(apiKeys.length, "key", "keys")} selected</span>
      <div className={classes.actions}>
        <Button variant="default" disabled={!hasEnabled} onClick={() => setAction("disable")}>
          Disable
        </Button>
        <Button className={dialogClasses.danger} onClick={() => setAction("delete")}>
          Delete
        </Button>
        <Button variant="subtle" color="gray" onClick={onClear}>
          Clear selection
        </Button>
      </div>
      <LazyDialog
        source={bulkDialog}
        props={{
          action,
          apiKeys: action === "disable" ? apiKeys.filter(({ isDisabled }) => !isDisabled) : apiKeys,
          onClose: () => setAction(undefined),
          onDone: onClear,
        }}
      />
    </div>
  );
}
