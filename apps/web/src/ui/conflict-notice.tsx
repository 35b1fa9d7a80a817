import { Button } from "@mantine/core";
import { Fragment, type MouseEvent, type ReactElement, useEffect, useRef } from "react";
import classes from "./conflict-notice.module.css";
import { EmptyCell } from "./empty-cell.tsx";

interface ConflictNoticeProps {
  /** What the form edits, such as "workspace". */
  readonly noun: string;
  /** The current values of fields that someone else changed, by label. */
  readonly changes: Readonly<Record<string, string>>;
  /** Called after the form was reset. */
  readonly onDiscard: () => void;
}

/**
 * Reports that what a form edits was changed elsewhere, and lets the user discard their own changes, which resets the form
 * around the notice.
 */
export function ConflictNotice({ noun, changes, onDiscard }: ConflictNoticeProps): ReactElement {
  const changed = Object.entries(changes);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.focus(), []);
  const discard = ({ currentTarget: { form } }: MouseEvent<HTMLButtonElement>) => {
    form?.reset();
    onDiscard();
    // The button is removed with the notice. Waits until the fields are rendered again.
    setTimeout(() => form?.querySelector<HTMLElement>("input:not([type=hidden]), textarea, button")?.focus());
  };
  return (
    <div className={classes.conflict} role="alert" ref={box} tabIndex={-1}>
      <p>
        The {noun} was changed in another window or by someone else while you were editing it, so your changes
        weren’t saved. Save again to apply them, or discard them. Fields that you didn’t edit show their
        current values.
      </p>
      {changed.length > 0 && (
        <>
          <p>Current values:</p>
          <dl>
            {changed.map(([label, value]) => (
              <Fragment key={label}>
                <dt>{label}</dt>
                <dd>{value === "" ? <EmptyCell /> : <bdi>{value}</bdi>}</dd>
              </Fragment>
            ))}
          </dl>
        </>
      )}
      <Button className={classes.discard} variant="default" onClick={discard}>
        Discard changes
      </Button>
    </div>
  );
}
