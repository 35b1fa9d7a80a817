import { Button } from "@mantine/core";
import type { ReactElement } from "react";
import type { WorkspaceKey } from "../../server/trpc.ts";
import classes from "../../ui/bulk-bar.module.css";
import { countOf } from "../../ui/count.ts";
import dialogClasses from "../../ui/dialog.module.css";
import { type BlockRequest, canUnblock } from "./block-request.ts";

interface BlockBarProps {
  /** The selected keys. */
  readonly apiKeys: readonly WorkspaceKey[];
  readonly onRequest: (request: BlockRequest) => void;
  readonly onClear: () => void;
}

/** The actions for all selected keys. Renders nothing if no key is selected. */
export function BlockBar({ apiKeys, onRequest, onClear }: BlockBarProps): ReactElement | null {
  if (apiKeys.length === 0) return null;
  const blockable = apiKeys.filter(({ isBlocked }) => !isBlocked);
  const unblockable = apiKeys.filter(canUnblock);
  const clear = () => {
    onClear();
    // The button that had the focus is removed with the bar.
    document.getElementById("content")?.focus();
  };
  return (
    <div className={classes.bar}>
      <span role="status">{countOf(apiKeys.length, "key", "keys")} selected</span>
      <div className={classes.actions}>
        {blockable.length > 0 && (
          <Button
            className={dialogClasses.danger}
            onClick={() => onRequest({ action: "block", apiKeys: blockable, isSelection: true })}
          >
            Block
          </Button>
        )}
        {unblockable.length > 0 && (
          <Button
            variant="default"
            onClick={() => onRequest({ action: "unblock", apiKeys: unblockable, isSelection: true })}
          >
            Unblock
          </Button>
        )}
        <Button variant="subtle" color="gray" onClick={clear}>
          Clear selection
        </Button>
      </div>
    </div>
  );
}
