import type { UseFormReturnType } from "@mantine/form";
import type { ReactElement, ReactNode } from "react";
import { changedFields } from "../../ui/changed-fields.ts";
import dialogClasses from "../../ui/dialog.module.css";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormActions } from "../../ui/form-actions.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { useFieldIssues } from "./field-issues.ts";
import type { IssuedKeyValues } from "./issued-key-values.ts";
import type { KeyspaceValues } from "./keyspace-values.ts";
import type { ConsumerValues } from "./limit-values.ts";

/** What the forms of keyspaces, issued keys and consumers have in common. */
export interface SettingsFormProps<Fields> {
  /** The label of the button that submits. */
  readonly action: string;
  readonly error: unknown;
  /** What to show if the server didn't respond, for a change that must not be repeated blindly. */
  readonly lostResponse?: string;
  readonly isBusy: boolean;
  /** Shown above the fields. */
  readonly notice?: ReactNode;
  readonly onSubmit: (fields: Fields) => void;
  readonly onCancel: () => void;
}

interface FrameProps<Values> extends SettingsFormProps<Values> {
  readonly form: UseFormReturnType<Values>;
  readonly children: ReactNode;
}

/** The frame of a form in a dialog: why it was rejected, its fields, and the buttons. */
export function SettingsForm<Values extends IssuedKeyValues | KeyspaceValues | ConsumerValues>(
  props: FrameProps<Values>,
): ReactElement {
  const { form, action, error, lostResponse, isBusy, notice, onSubmit, onCancel, children } = props;
  // After a field was edited, `isDirty` is only about edited fields, so it misses a limit that was added or removed.
  useUnsavedInput(() => Object.keys(changedFields(form.getInitialValues(), form.getValues())).length > 0);
  const failure = useFieldIssues(form, error);
  return (
    <form
      className={dialogClasses.form}
      noValidate
      onReset={form.onReset}
      onSubmit={form.onSubmit((values) => {
        if (!isBusy) onSubmit(values);
      }, focusFirstError(form.getInputNode))}
    >
      {notice}
      {failure && (
        <FormFailure
          message={(failure.code === "NO_ANSWER" && lostResponse) || failure.message}
          requestId={failure.requestId}
        />
      )}
      {children}
      <FormActions action={action} isSticky isBusy={isBusy} onCancel={onCancel} />
    </form>
  );
}
