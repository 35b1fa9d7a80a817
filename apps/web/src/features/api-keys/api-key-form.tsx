import { Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { getHotkeyHandler } from "@mantine/hooks";
import { type KeyboardEvent, type ReactElement, type ReactNode, useState } from "react";
import { describeFailure, type Failure } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import type { KeySettings } from "../../server/trpc.ts";
import classes from "../../ui/dialog.module.css";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormActions } from "../../ui/form-actions.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { useLatestValues } from "../../ui/use-latest-values.ts";
import { type ApiKeyValues, apiKeyRules, normalizeValues } from "./api-key-values.ts";
import { KeyReview } from "./key-review.tsx";
import { PolicyWarning } from "./policy-warning.tsx";
import { RestrictionDisclosure } from "./restrictions/restriction-disclosure.tsx";
import { ExpiryField } from "./restrictions/restriction-fields.tsx";
import { changedSettings, noRestrictions } from "./restrictions/restriction-values.ts";
import {
  type RestrictionForm,
  showRestrictionIssues,
  validateRestrictions,
} from "./restrictions/use-restriction-form.ts";

interface ApiKeyFormProps {
  readonly initialValues: ApiKeyValues;
  /** Saves the values. The form shows any error that it throws. */
  readonly onSave: (values: ApiKeyValues, settings?: KeySettings) => Promise<unknown>;
  readonly onCancel: () => void;
  /** Shown above the fields. */
  readonly notice?: ReactNode;
  /** The restrictions of a new key. */
  readonly restrictions?: RestrictionForm;
  /** The control that selects the template of a new key. */
  readonly template?: ReactNode;
  /** The only workspace of the service account that the key belongs to; undefined for a person's key. */
  readonly onlyWorkspaceId?: string | undefined;
  /** Returns the message for a failure. Defaults to the failure's own message. */
  readonly describe?: (failure: Failure) => string;
}

/** Edits the name and description of a new or existing key. */
export function ApiKeyForm(props: ApiKeyFormProps): ReactElement {
  const { initialValues, restrictions, template, notice, onSave, onCancel } = props;
  const { describe = ({ message }) => message, onlyWorkspaceId } = props;
  const hasOneWorkspace = onlyWorkspaceId !== undefined;
  const [isSaving, setIsSaving] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const [hasRestrictionIssues, setHasRestrictionIssues] = useState(false);
  const form = useForm<ApiKeyValues>({
    mode: "uncontrolled",
    initialValues,
    validate: apiKeyRules,
  });
  useLatestValues(form, initialValues);
  useUnsavedInput(() => form.isDirty() || (restrictions?.isDirty() ?? false));
  const save = async (values: ApiKeyValues) => {
    // The button is disabled while saving, but Ctrl+Enter can still submit the form.
    if (isSaving) return;
    setFailure(undefined);
    setHasRestrictionIssues(false);
    if (restrictions && !validateRestrictions(restrictions)) return;
    setIsSaving(true);
    try {
      await onSave(
        normalizeValues(values),
        restrictions && changedSettings(noRestrictions, restrictions.values),
      );
    } catch (error) {
      showIssues(form, error);
      setHasRestrictionIssues(restrictions !== undefined && showRestrictionIssues(restrictions, error));
      setFailure(describeFailure(error));
    } finally {
      setIsSaving(false);
    }
  };
  const submit = (event: KeyboardEvent | globalThis.KeyboardEvent) => {
    if (event.target instanceof HTMLTextAreaElement) event.target.form?.requestSubmit();
  };
  return (
    <form
      className={classes.form}
      noValidate
      onReset={form.onReset}
      onSubmit={form.onSubmit(save, (errors) => {
        // Also validates the restrictions, so that all invalid fields show their errors.
        restrictions?.validate();
        focusFirstError(form.getInputNode)(errors);
      })}
    >
      {notice}
      {failure && !hasIssueOf(form, failure) && !hasRestrictionIssues && (
        <FormFailure message={describe(failure)} requestId={failure.requestId} />
      )}
      <TextInput
        {...form.getInputProps("name")}
        key={form.key("name")}
        label="Name"
        placeholder="Nightly backup"
        autoComplete="off"
        dir="auto"
        data-autofocus
        required
        withAsterisk={false}
      />
      <Textarea
        {...form.getInputProps("description")}
        key={form.key("description")}
        label="Description"
        description="What the key is for, and who to ask about it. Optional."
        dir="auto"
        autosize
        minRows={2}
        maxRows={6}
        onKeyDown={getHotkeyHandler([["mod+Enter", submit]])}
      />
      {restrictions && (
        <>
          {template}
          <ExpiryField form={restrictions} expiresAt={null} />
          <RestrictionDisclosure form={restrictions} hasOneWorkspace={hasOneWorkspace} />
          <PolicyWarning form={restrictions} onlyWorkspaceId={onlyWorkspaceId} />
          <KeyReview values={restrictions.values} hasOneWorkspace={hasOneWorkspace} />
        </>
      )}
      <FormActions
        action={restrictions ? "Create key" : "Save"}
        isSticky
        isBusy={isSaving}
        onCancel={onCancel}
      />
    </form>
  );
}
