import { Button, Group } from "@mantine/core";
import { useForm } from "@mantine/form";
import type { ReactElement, ReactNode } from "react";
import type { IssuedKeyFields } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import dialogClasses from "../../ui/dialog.module.css";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { useFieldIssues } from "./field-issues.ts";
import { IssuedKeyInputs } from "./issued-key-inputs.tsx";
import { fieldsOfKey, type IssuedKeyValues, issuedKeyRules } from "./issued-key-values.ts";

interface IssuedKeyFormProps {
  readonly initialValues: IssuedKeyValues;
  /** The current expiry of a key that is edited. */
  readonly expiresAt?: string | null;
  /** The lifetime that the keyspace sets for a new key; null for none. */
  readonly defaultLifetimeDays?: number | null;
  /** The label of the button that submits. */
  readonly action: string;
  readonly error: unknown;
  readonly isBusy: boolean;
  /** Shown above the fields. */
  readonly notice?: ReactNode;
  readonly onSubmit: (fields: IssuedKeyFields) => void;
  readonly onCancel: () => void;
}

/** The form of a new issued key, or of an edit. */
export function IssuedKeyForm(props: IssuedKeyFormProps): ReactElement {
  const { initialValues, expiresAt, defaultLifetimeDays, action, error, isBusy, notice } = props;
  const { onSubmit, onCancel } = props;
  const form = useForm<IssuedKeyValues>({
    name: "issued-key",
    mode: "controlled",
    initialValues,
    validate: issuedKeyRules,
  });
  useUnsavedInput(form.isDirty);
  const failure = useFieldIssues(form, error);
  return (
    <form
      className={dialogClasses.form}
      noValidate
      onSubmit={form.onSubmit((values) => {
        if (!isBusy) onSubmit(fieldsOfKey(values, new Date()));
      }, focusFirstError(form.getInputNode))}
    >
      {notice}
      {failure && <FormFailure message={failure.message} requestId={failure.requestId} />}
      <IssuedKeyInputs form={form} expiresAt={expiresAt} defaultLifetimeDays={defaultLifetimeDays} />
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
