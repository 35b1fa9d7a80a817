import { Button } from "@mantine/core";
import { type ReactElement, useState } from "react";
import classes from "./bulk-bar.module.css";
import { type BulkAction, type BulkItems, toChange } from "./bulk-change.ts";
import { countOf } from "./count.ts";
import dialogClasses from "./dialog.module.css";
import { LazyDialog } from "./lazy-dialog.tsx";

const bulkDialog = {
  load: () => import("./bulk-dialog.tsx").then((module) => module.BulkDialog),
  closed: { change: undefined },
};

interface BulkBarProps<Item> extends BulkItems<Item> {
  readonly actions: readonly BulkAction<Item>[];
  readonly onClear: () => void;
}

/** The actions for all selected items of a list. Renders nothing if none is selected. */
export function BulkBar<Item>(props: BulkBarProps<Item>): ReactElement | null {
  const { items, nouns, actions, onClear } = props;
  const [action, setAction] = useState<BulkAction<Item>>();
  if (items.length === 0) return null;
  const affectedBy = ({ appliesTo = () => true }: BulkAction<Item>) => items.filter(appliesTo);
  const clear = () => {
    onClear();
    // The button that had the focus is removed with the bar.
    document.getElementById("content")?.focus();
  };
  return (
    <div className={classes.bar}>
      <span role="status">{countOf(items.length, ...nouns)} selected</span>
      <div className={classes.actions}>
        {actions
          .filter((candidate) => affectedBy(candidate).length > 0)
          .map((candidate) => (
            <Button
              key={candidate.verb}
              {...(candidate.isDangerous ? { className: dialogClasses.danger } : { variant: "default" })}
              onClick={() => setAction(candidate)}
            >
              {candidate.verb}
            </Button>
          ))}
        <Button variant="subtle" color="gray" onClick={clear}>
          Clear selection
        </Button>
      </div>
      <LazyDialog
        source={bulkDialog}
        props={{
          change: action && toChange(action, { ...props, items: affectedBy(action) }),
          onClose: () => setAction(undefined),
          onDone: onClear,
        }}
      />
    </div>
  );
}
