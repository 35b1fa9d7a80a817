import { issuedKeyLimits } from "@latchkey/limits";
import { Button, Select, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { IconPlus } from "@tabler/icons-react";
import { type ReactElement, useRef } from "react";
import { Choice } from "../../ui/choice.tsx";
import classes from "./fields.module.css";
import { emptyLimit, type LimitValues, namedWindows } from "./limit-values.ts";

const windows = [
  ...Object.entries(namedWindows).map(([value, name]) => ({ value, label: `per ${name}` })),
  { value: "other", label: "custom window" },
];

interface LimitFieldsProps<Values extends { readonly limits: readonly LimitValues[] }> {
  readonly form: UseFormReturnType<Values>;
  readonly help: string;
}

/** The named rate limits of a key, each with its quota and window. */
export function LimitFields<Values extends { readonly limits: readonly LimitValues[] }>({
  form,
  help,
}: LimitFieldsProps<Values>): ReactElement {
  const { limits } = form.getValues();
  const added = useRef(0);
  const addButton = useRef<HTMLButtonElement>(null);
  const add = () => {
    added.current += 1;
    // The generic type of the values hides that they are those of a limit.
    form.insertListItem("limits", emptyLimit(`added-${added.current}`, limits.length === 0) as never);
    // After the fields are rendered.
    setTimeout(() => form.getInputNode(`limits.${limits.length}.name`)?.focus());
  };
  const remove = (index: number) => {
    form.removeListItem("limits", index);
    // After the fields are rendered: at the maximum number of limits, there was no button.
    setTimeout(() => addButton.current?.focus());
  };
  return (
    <fieldset className={classes.group}>
      <legend className={classes.legend}>Rate limits</legend>
      <p className={classes.help}>{help}</p>
      {limits.map((limit, index) => {
        const path = `limits.${index}`;
        const label = (field: string) => (limits.length > 1 ? `${field} of limit ${index + 1}` : undefined);
        return (
          <div className={classes.limit} key={limit.id}>
            <div className={classes.row}>
              <TextInput
                {...form.getInputProps(`${path}.name`)}
                className={classes.wide}
                classNames={{ input: classes.mono ?? "" }}
                label="Limit name"
                aria-label={label("Limit name")}
                placeholder="requests"
                autoComplete="off"
                spellCheck={false}
              />
              <TextInput
                {...form.getInputProps(`${path}.quota`)}
                className={classes.narrow}
                label="Quota"
                aria-label={label("Quota")}
                placeholder="100"
                inputMode="numeric"
                autoComplete="off"
              />
              <Select
                {...form.getInputProps(`${path}.window`)}
                className={classes.narrow}
                label="Window"
                aria-label={label("Window")}
                data={windows}
                allowDeselect={false}
              />
              {limit.window === "other" && (
                <TextInput
                  {...form.getInputProps(`${path}.windowSeconds`)}
                  className={classes.narrow}
                  label="Seconds"
                  aria-label={label("Seconds")}
                  inputMode="numeric"
                  autoComplete="off"
                />
              )}
            </div>
            <div className={classes.foot}>
              <Choice
                kind="checkbox"
                label="Applies to every verification"
                help={limit.appliesAlways ? undefined : "Applies only to verifications that name the limit."}
                isChosen={limit.appliesAlways}
                onChoose={(isChosen) =>
                  // The path is that of a field of a limit, which the type of paths doesn't know.
                  form.setFieldValue(`${path}.appliesAlways`, isChosen as never)
                }
              />
              <Button
                variant="subtle"
                color="gray"
                aria-label={`Remove limit ${limit.name || index + 1}`}
                onClick={() => remove(index)}
              >
                Remove
              </Button>
            </div>
          </div>
        );
      })}
      {limits.length < issuedKeyLimits.maxNamedLimits && (
        <Button
          ref={addButton}
          variant="default"
          className={classes.add}
          leftSection={<IconPlus size={16} />}
          onClick={add}
        >
          Add rate limit
        </Button>
      )}
    </fieldset>
  );
}
