import { Button, Group, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import type { ReactElement, ReactNode } from "react";
import type { KeyspaceFields } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import dialogClasses from "../../ui/dialog.module.css";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { CreditsFields } from "./credits-fields.tsx";
import { useFieldIssues } from "./field-issues.ts";
import classes from "./fields.module.css";
import { fieldsOfKeyspace, type KeyspaceValues, keyspaceRules } from "./keyspace-values.ts";
import { LimitFields } from "./limit-fields.tsx";
import { PermissionsField } from "./permissions-field.tsx";

interface KeyspaceFormProps {
  readonly initialValues: KeyspaceValues;
  /** The label of the button that submits. */
  readonly action: string;
  readonly error: unknown;
  readonly isBusy: boolean;
  /** Shown above the fields. */
  readonly notice?: ReactNode;
  /** @param markSaved call it before another page opens, so that nothing asks whether to discard the input. */
  readonly onSubmit: (fields: KeyspaceFields, markSaved: () => void) => void;
  readonly onCancel: () => void;
}

/** The form of a new keyspace, or of an edit. */
export function KeyspaceForm(props: KeyspaceFormProps): ReactElement {
  const { initialValues, action, error, isBusy, notice, onSubmit, onCancel } = props;
  const form = useForm<KeyspaceValues>({
    name: "keyspace",
    mode: "controlled",
    initialValues,
    validate: keyspaceRules,
  });
  useUnsavedInput(form.isDirty);
  const failure = useFieldIssues(form, error);
  return (
    <form
      className={dialogClasses.form}
      noValidate
      onSubmit={form.onSubmit((values) => {
        if (!isBusy) onSubmit(fieldsOfKeyspace(values), () => form.resetDirty());
      }, focusFirstError(form.getInputNode))}
    >
      {notice}
      {failure && <FormFailure message={failure.message} requestId={failure.requestId} />}
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
        help="How often a new key can be used in total. A verification costs 1 credit unless it names another cost."
      />
      <Group justify="flex-end" gap={8} className={dialogClasses.foot}>
        <Button variant="default" onClick={onCancel} disabled={isBusy}>
          Cancel
        </Button>
        <BusyButton type="submit" loading={isBusy}>
          {action}
        </BusyButton>
      </Group>
    </form>
  );
}
