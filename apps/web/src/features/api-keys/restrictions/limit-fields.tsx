import { Select, TextInput } from "@mantine/core";
import { type ReactElement, useId } from "react";
import classes from "./restriction-fields.module.css";
import { namedWindows, type RestrictionValues } from "./restriction-values.ts";
import type { RestrictionForm } from "./use-restriction-form.ts";

const windows = [
  ...Object.entries(namedWindows).map(([value, name]) => ({ value, label: `per ${name}` })),
  { value: "other", label: "custom window" },
];

/** The rate limit of a key: its quota and window. */
export function LimitFields({ form }: { readonly form: RestrictionForm }): ReactElement {
  const helpId = useId();
  const errorId = useId();
  const { window } = form.values;
  return (
    <div>
      <div className={classes.row}>
        <TextInput
          {...form.getInputProps("quota")}
          error={form.errors.quota !== undefined}
          className={classes.number}
          label="Rate limit"
          placeholder="No limit"
          inputMode="numeric"
          autoComplete="off"
          aria-describedby={form.errors.quota ? `${errorId} ${helpId}` : helpId}
        />
        <Select
          className={classes.unit}
          aria-label="Rate limit window"
          data={windows}
          value={window}
          onChange={(value) => form.setFieldValue("window", value as RestrictionValues["window"])} // One of the options.
        />
        {window === "other" && (
          <TextInput
            {...form.getInputProps("windowSeconds")}
            className={classes.number}
            label="Seconds"
            inputMode="numeric"
            autoComplete="off"
          />
        )}
      </div>
      {form.errors.quota && (
        <p className={classes.error} id={errorId} role="alert">
          {form.errors.quota}
        </p>
      )}
      <p className={classes.help} id={helpId}>
        Requests allowed per window. Extra requests get 429 with Retry-After. Leave empty for no limit.
      </p>
    </div>
  );
}
