import { TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import type { ReactElement } from "react";
import type { KeyspaceFields } from "../../server/trpc.ts";
import { useLatestValues } from "../../ui/use-latest-values.ts";
import { CreditsFields } from "./credits-fields.tsx";
import { refillNames } from "./credits-values.ts";
import classes from "./fields.module.css";
import { fieldsOfKeyspace, type KeyspaceValues, keyspaceRules } from "./keyspace-values.ts";
import { LimitFields } from "./limit-fields.tsx";
import { PermissionsField } from "./permissions-field.tsx";
import { SettingsForm, type SettingsFormProps } from "./settings-form.tsx";

interface KeyspaceFormProps extends Omit<SettingsFormProps<KeyspaceFields>, "onSubmit"> {
  readonly initialValues: KeyspaceValues;
  /** @param markSaved call it before another page opens, so that nothing asks whether to discard the input. */
  readonly onSubmit: (fields: KeyspaceFields, markSaved: () => void) => void;
}

const settings = [["credits", ...refillNames]] as const;

/** The form of a new keyspace, or of an edit. */
export function KeyspaceForm({ initialValues, onSubmit, ...frame }: KeyspaceFormProps): ReactElement {
  const form = useForm<KeyspaceValues>({
    name: "keyspace",
    mode: "controlled",
    initialValues,
    validate: keyspaceRules,
  });
  useLatestValues(form, initialValues, settings);
  return (
    <SettingsForm
      {...frame}
      form={form}
      onSubmit={(values) => onSubmit(fieldsOfKeyspace(values), () => form.resetDirty())}
    >
      <TextInput
        {...form.getInputProps("name")}
        label="Name"
        description="What the keys are for, such as one of your products."
        placeholder="Production"
        autoComplete="off"
        dir="auto"
        data-autofocus
        required
        withAsterisk={false}
      />
      <div className={classes.row}>
        <TextInput
          {...form.getInputProps("prefix")}
          className={classes.wide}
          classNames={{ input: classes.mono ?? "" }}
          label="Prefix"
          description="New keys start with it, for example sk_live_4fTq…"
          placeholder="sk_live"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          required
          withAsterisk={false}
        />
        <TextInput
          {...form.getInputProps("environment")}
          className={classes.wide}
          label="Environment"
          description="A label to search for. Optional."
          placeholder="production"
          autoComplete="off"
          dir="auto"
        />
      </div>
      <fieldset className={classes.group}>
        <legend className={classes.legend}>Defaults for new keys</legend>
        <p className={classes.help}>
          Each key can have other values. Changing a default doesn’t change keys that already exist.
        </p>
        <TextInput
          {...form.getInputProps("lifetimeDays")}
          label="Lifetime in days"
          placeholder="Never expires"
          inputMode="numeric"
          autoComplete="off"
        />
        <PermissionsField
          label="Permissions"
          help="What a key allows in your API, one per line. Leave empty for none."
          inputProps={form.getInputProps("permissions")}
        />
      </fieldset>
      <LimitFields
        form={form}
        help="How much a new key can be used per window. A verification that exceeds a limit spends nothing."
      />
      <CreditsFields
        form={form}
        help="The credits that a new key starts with. Each verification subtracts its cost, which is 1 by default."
      />
    </SettingsForm>
  );
}
