import { Select, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import type { ReactElement, ReactNode } from "react";
import type { CreditsValues } from "./credits-values.ts";
import classes from "./fields.module.css";

const refills = [
  { value: "never", label: "Never" },
  { value: "daily", label: "Every day" },
  { value: "monthly", label: "Every month" },
];

interface CreditsFieldsProps<Values extends CreditsValues> {
  readonly form: UseFormReturnType<Values>;
  readonly help: ReactNode;
}

/** The balance of a key, and when it is refilled. */
export function CreditsFields<Values extends CreditsValues>({
  form,
  help,
}: CreditsFieldsProps<Values>): ReactElement {
  const { credits, refill } = form.getValues();
  const isLimited = credits.trim() !== "";
  return (
    <fieldset className={classes.group}>
      <legend className={classes.legend}>Credits</legend>
      <p className={classes.help}>{help}</p>
      <div className={classes.row}>
        <TextInput
          {...form.getInputProps("credits")}
          className={classes.half}
          label="Balance"
          placeholder="Unlimited"
          inputMode="numeric"
          autoComplete="off"
        />
        {isLimited && (
          <>
            <Select
              {...form.getInputProps("refill")}
              className={classes.half}
              label="Refill"
              data={refills}
              allowDeselect={false}
            />
            {refill !== "never" && (
              <TextInput
                {...form.getInputProps("refillAmount")}
                className={classes.half}
                label="Refill to"
                inputMode="numeric"
                autoComplete="off"
              />
            )}
            {refill === "monthly" && (
              <TextInput
                {...form.getInputProps("refillDay")}
                className={classes.half}
                label="Day of the month"
                inputMode="numeric"
                autoComplete="off"
              />
            )}
          </>
        )}
      </div>
      {isLimited && refill !== "never" && (
        <p className={classes.help} data-after>
          Refilled at midnight UTC. A refill never lowers the balance.
        </p>
      )}
    </fieldset>
  );
}
