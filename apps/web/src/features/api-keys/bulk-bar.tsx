import { Button } from "@mantine/core";
import { type ReactElement, useState } from "react";
import type { ListedApiKey } from "../../server/trpc.ts";
import classes from "../../ui/bulk-bar.module.css";
import { countOf } from "../../ui/count.ts";
import dialogClasses from "../../ui/dialog.module.css";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
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
  const enabled = apiKeys.filter(({ isDisabled }) => !isDisabled);
  const disabled = apiKeys.filter(({ isDisabled }) => isDisabled);
  const clear = () => {
    onClear();
    // The button that had the focus is removed with the bar.
    document.getElementById("content")?.focus();
  };
  const affected = { disable: enabled, enable: disabled, delete: apiKeys };
  return (
    <div className={classes.bar}>
      <span role="status">{countOf(apiKeys.length, "key", "keys")} selected</span>
      <div className={classes.actions}>
        {enabled.length > 0 && (
          <Button variant="default" onClick={() => setAction("disable")}>
            Disable
          </Button>
        )}
        {disabled.length > 0 && (
          <Button variant="default" onClick={() => setAction("enable")}>
            Enable
          </Button>
        )}
        <Button className={dialogClasses.danger} onClick={() => setAction("delete")}>
          Delete
        </Button>
        <Button variant="subtle" color="gray" onClick={clear}>
          Clear selection
        </Button>
      </div>
      <LazyDialog
        source={bulkDialog}
        props={{
          action,
          apiKeys: action ? affected[action] : [],
          onClose: () => setAction(undefined),
          onDone: onClear,
        }}
      />
    </div>
  );
}
