import { Select, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import type { ReactElement } from "react";
import { Choice, Choices } from "./choice.tsx";
import classes from "./overlap-fields.module.css";
import { type OverlapValues, overlapChoices, overlapUnits } from "./overlap-values.ts";

const units = Object.entries(overlapUnits).map(([value, label]) => ({ value, label }));

/** How long the old secret of a key stays valid: a common duration or a custom one. */
export function OverlapFields({ form }: { readonly form: UseFormReturnType<OverlapValues> }): ReactElement {
  const { choice, unit } = form.values;
  return (
    <Choices label="How long the old secret stays valid">
      {overlapChoices.map(({ value, label, ...more }) => (
        <Choice
          key={value}
          kind="radio"
          name="overlap"
          label={label}
          {...more}
          isChosen={value === choice}
          hasAutofocus={value === choice}
          onChoose={() => form.setFieldValue("choice", value)}
        />
      ))}
      {choice === "custom" && (
        <div className={classes.custom}>
          <TextInput
            {...form.getInputProps("amount")}
            className={classes.amount}
            label="Duration"
            inputMode="numeric"
            autoComplete="off"
            autoFocus
          />
          <Select
            className={classes.unit}
            aria-label="Unit of the duration"
            data={units}
            value={unit}
            onChange={(value) => form.setFieldValue("unit", value as OverlapValues["unit"])} // One of the options.
          />
        </div>
      )}
    </Choices>
  );
}
