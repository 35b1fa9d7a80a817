import { UnstyledButton } from "@mantine/core";
import type { ReactElement } from "react";
import classes from "./segments.module.css";

interface SegmentsProps<Value extends string> {
  /** The accessible name of the whole, such as "Period". */
  readonly label: string;
  readonly options: readonly { readonly value: Value; readonly label: string }[];
  readonly value: Value;
  readonly onChoose: (value: Value) => void;
}

/** A few short choices in one line, one of them in force. */
export function Segments<Value extends string>(props: SegmentsProps<Value>): ReactElement {
  const { label, options, value: chosen, onChoose } = props;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a field set is for fields, and these are buttons
    <div className={classes.segments} role="group" aria-label={label}>
      {options.map(({ value, label: words }) => (
        <UnstyledButton
          key={value}
          className={classes.segment}
          aria-pressed={value === chosen}
          onClick={() => onChoose(value)}
        >
          {words}
        </UnstyledButton>
      ))}
    </div>
  );
}
