import { Button } from "@mantine/core";
import { Fragment, type ReactElement, useEffect, useRef } from "react";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import classes from "./settings-conflict.module.css";
import { type WorkspaceValues, workspaceLabels } from "./workspace-values.ts";

interface SettingsConflictProps {
  /** The fields that someone else changed, as they are now. */
  readonly concurrentChanges: Partial<WorkspaceValues>;
  readonly onDiscard: () => void;
}

/** Shows what someone else saved first, and lets the user discard their own changes. */
export function SettingsConflict({ concurrentChanges, onDiscard }: SettingsConflictProps): ReactElement {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.focus(), []);
  const changed = Object.entries(concurrentChanges) as [keyof WorkspaceValues, string][]; // As its type says.
  return (
    <div className={classes.conflict} role="alert" ref={box} tabIndex={-1}>
      <p>
        Someone else changed the workspace while you were editing it, so your changes weren’t saved. Save
        again to apply them, or discard them.
      </p>
      <dl>
        {changed.map(([field, value]) => (
          <Fragment key={field}>
            <dt>Current {workspaceLabels[field].toLowerCase()}</dt>
            <dd>{value === "" ? <EmptyCell /> : <bdi>{value}</bdi>}</dd>
          </Fragment>
        ))}
      </dl>
      <Button variant="default" onClick={onDiscard}>
        Discard changes
      </Button>
    </div>
  );
}
