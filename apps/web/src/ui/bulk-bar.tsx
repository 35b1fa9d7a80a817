import { Button } from "@mantine/core";
import { type ReactElement, type ReactNode, useState } from "react";
import classes from "./bulk-bar.module.css";
import { type BulkAction, type BulkItems, toChange } from "./bulk-change.ts";
import { countOf } from "./count.ts";
import dialogClasses from "./dialog.module.css";
import { LazyDialog } from "./lazy-dialog.tsx";
import { maxSelected } from "./table-search.ts";

const bulkDialog = {
  load: () => import("./bulk-dialog.tsx").then((module) => module.BulkDialog),
  closed: { change: undefined },
};

interface BulkBarProps<Item> extends BulkItems<Item> {
  readonly actions: readonly BulkAction<Item>[];
  /** The buttons of actions that have a dialog of their own. They come before the other buttons. */
  readonly otherActions?: ReactNode;
  /** Selects only these items. */
  readonly onSelect: (items: readonly Item[]) => void;
}

/**
 * The actions for all selected items of a list. Only the dialog of an action is left if no item is selected anymore: it shows
 * what can't be shown again, such as new links, while the list may be loaded again without the changed items.
 */
export function BulkBar<Item>(props: BulkBarProps<Item>): ReactElement {
  const { items, nouns, actions, otherActions, onSelect } = props;
  const [action, setAction] = useState<BulkAction<Item>>();
  // The items of the open dialog, because the selection changes when they have been changed.
  const [affected, setAffected] = useState<readonly Item[]>([]);
  const [skippedCount, setSkippedCount] = useState(0);
  const affectedBy = ({ appliesTo = () => true }: BulkAction<Item>) => items.filter(appliesTo);
  const choose = (candidate: BulkAction<Item>) => {
    setAction(candidate);
    const changing = affectedBy(candidate);
    setAffected(changing);
    setSkippedCount(items.length - changing.length);
  };
  const clear = () => {
    onSelect([]);
    // The button that had the focus is removed with the bar.
    document.getElementById("content")?.focus();
  };
  return (
    <>
      {items.length > 0 && (
        <div className={classes.bar}>
          <span role="status">
            {countOf(items.length, ...nouns)} selected{items.length === maxSelected && " (the maximum)"}
          </span>
          <div className={classes.actions}>
            {otherActions}
            {actions
              .filter((candidate) => affectedBy(candidate).length > 0)
              .map((candidate) => (
                <Button
                  key={candidate.verb}
                  {...(candidate.isDangerous ? { className: dialogClasses.danger } : { variant: "default" })}
                  onClick={() => choose(candidate)}
                >
                  {candidate.verb}
                </Button>
              ))}
            <Button variant="subtle" color="gray" onClick={clear}>
              Clear selection
            </Button>
          </div>
        </div>
      )}
      <LazyDialog
        source={bulkDialog}
        props={{
          change: action && toChange(action, { ...props, items: affected }, skippedCount),
          onClose: () => setAction(undefined),
          onDone: (failed) => onSelect(affected.filter((_item, index) => failed.includes(index))),
        }}
      />
    </>
  );
}
