import { UnstyledButton } from "@mantine/core";
import type { ReactElement } from "react";
import classes from "./segmented-control.module.css";

interface SegmentedControlProps<Value extends string> {
  /** The accessible name of the group, such as "Period". */
  readonly label: string;
  readonly options: readonly { readonly value: Value; readonly label: string }[];
  readonly value: Value;
  readonly onChoose: (value: Value) => void;
}

/** A segmented control: a few short options in one line, one of them selected. */
export function SegmentedControl<Value extends string>(props: SegmentedControlProps<Value>): ReactElement {
  const { label, options, value: chosen, onChoose } = props;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a field set is for fields, and these are buttons
    <div className={classes.segments} role="group" aria-label={label}>
      {options.map(({ value, label: text }) => (
        <UnstyledButton
          key={value}
          className={classes.segment}
          aria-pressed={value === chosen}
          onClick={() => onChoose(value)}
        >
          {text}
        </UnstyledButton>
      ))}
    </div>
  );
}
