import { useForm } from "@mantine/form";
import { type ReactElement, type ReactNode, useEffect, useEffectEvent } from "react";
import { describeFailure } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import classes from "../../ui/dialog.module.css";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormActions } from "../../ui/form-actions.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { useLatestValues } from "../../ui/use-latest-values.ts";
import { WebhookFields } from "./webhook-fields.tsx";
import { fieldsOf, type WebhookValues, webhookRules } from "./webhook-values.ts";

interface WebhookFormProps {
  readonly initialValues: WebhookValues;
  /** The label of the button that submits. */
  readonly action: string;
  readonly error: unknown;
  /** What to show if the server didn't respond, for a change that must not be repeated blindly. */
  readonly lostResponse?: string;
  /** Shown above the fields. */
  readonly notice?: ReactNode;
  readonly isBusy: boolean;
  readonly onSubmit: (fields: ReturnType<typeof fieldsOf>) => void;
  readonly onCancel: () => void;
}

const settings = [["hasAllActions", "actions"]] as const;

/** The form of a new webhook, or of an edit. */
export function WebhookForm(props: WebhookFormProps): ReactElement {
  const { initialValues, action, error, lostResponse, notice, isBusy, onSubmit, onCancel } = props;
  const form = useForm<WebhookValues>({
    name: "webhook",
    mode: "controlled",
    initialValues,
    validate: webhookRules,
  });
  useLatestValues(form, initialValues, settings);
  useUnsavedInput(form.isDirty);
  const show = useEffectEvent((rejection: unknown) => showIssues(form, rejection, fieldOf));
  useEffect(() => {
    if (error) show(error);
  }, [error]);
  const failure = error ? describeFailure(error) : undefined;
  return (
    <form
      className={classes.form}
      noValidate
      onReset={form.onReset}
      onSubmit={form.onSubmit((values) => {
        if (!isBusy) onSubmit(fieldsOf(values));
      }, focusFirstError(form.getInputNode))}
    >
      {notice}
      {failure && !hasIssueOf(form, failure, fieldOf) && (
        <FormFailure
          message={(failure.code === "NO_ANSWER" && lostResponse) || failure.message}
          requestId={failure.requestId}
        />
      )}
      <WebhookFields form={form} />
      <FormActions action={action} isSticky isBusy={isBusy} onCancel={onCancel} />
    </form>
  );
}

/** Returns the field in which the value at a path such as "url" or "changes.url" is entered. */
function fieldOf(path: string, values: WebhookValues): string | undefined {
  const [field = ""] = path.replace(/^changes\./, "").split(".");
  return Object.hasOwn(values, field) ? field : undefined;
}
