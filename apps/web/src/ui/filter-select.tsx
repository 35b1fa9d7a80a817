import { Select } from "@mantine/core";
import type { ReactElement } from "react";
import classes from "./toolbar.module.css";

interface FilterSelectProps<Value extends string> {
  /** The accessible name, such as "Status". */
  readonly label: string;
  /** The label of the choice that filters nothing, such as "Any status". */
  readonly anyLabel: string;
  /** The labels of the other choices. */
  readonly options: Readonly<Record<Value, string>>;
  readonly value: Value | undefined;
  /** Gets undefined for the choice that filters nothing. */
  readonly onChoose: (value: Value | undefined) => void;
  /** The maximum, in pixels; 160 by default. In a narrow window, the filter takes what is left of its line. */
  readonly width?: number;
}

const any = "any";

/** A filter in the toolbar of a table. */
export function FilterSelect<Value extends string>(props: FilterSelectProps<Value>): ReactElement {
  const { label, anyLabel, options, value, onChoose, width } = props;
  const values = Object.keys(options) as Value[]; // The object's keys.
  return (
    <Select
      className={classes.filter}
      {...(width !== undefined && { style: { "--lk-filter": `${width}px` } })}
      aria-label={label}
      allowDeselect={false}
      data={[
        { value: any, label: anyLabel },
        ...values.map((option) => ({ value: option, label: options[option] })),
      ]}
      value={value ?? any}
      onChange={(chosen) => onChoose(values.find((option) => option === chosen))}
    />
  );
}
