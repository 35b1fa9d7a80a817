import { Button, Group, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { getHotkeyHandler } from "@mantine/hooks";
import { type KeyboardEvent, type ReactElement, type ReactNode, useEffect, useRef, useState } from "react";
import { describeFailure, type Failure } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import type { KeySettings } from "../../server/trpc.ts";
import classes from "../../ui/dialog.module.css";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { type ApiKeyValues, apiKeyRules, tidied } from "./api-key-values.ts";
import { KeyReview } from "./key-review.tsx";
import { RestrictionDisclosure } from "./restrictions/restriction-disclosure.tsx";
import { ExpiryField } from "./restrictions/restriction-fields.tsx";
import { changedSettings, noRestrictions } from "./restrictions/restriction-values.ts";
import {
  areRestrictionsGood,
  type RestrictionForm,
  showRestrictionIssues,
} from "./restrictions/use-restriction-form.ts";

interface ApiKeyFormProps {
  readonly initialValues: ApiKeyValues;
  /** Saves the values; what it throws is shown. */
  readonly onSave: (values: ApiKeyValues, settings?: KeySettings) => Promise<unknown>;
  readonly onCancel: () => void;
  /** Hears whether something was typed that closing would lose. */
  readonly onDirty: (isDirty: boolean) => void;
  /** The restrictions of a new key. */
  readonly restrictions?: RestrictionForm;
  /** Chooses what a new key begins with. */
  readonly template?: ReactNode;
  /** The words for a failure; its own unless given. */
  readonly describe?: (failure: Failure) => string;
}

/** Name and description of a key, a new or an existing one. */
export function ApiKeyForm(props: ApiKeyFormProps): ReactElement {
  const { initialValues, restrictions, template, onSave, onCancel, onDirty } = props;
  const { describe = ({ message }) => message } = props;
  const [isSaving, setIsSaving] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const isTyped = useRef(false);
  const isRestricted = restrictions?.isDirty() ?? false;
  const [isAboutRestrictions, setIsAboutRestrictions] = useState(false);
  const form = useForm<ApiKeyValues>({
    mode: "uncontrolled",
    initialValues,
    validate: apiKeyRules,
    onValuesChange: ({ name, description }) => {
      isTyped.current = name !== initialValues.name || description !== initialValues.description;
      onDirty(isTyped.current || isRestricted);
    },
  });
  useEffect(() => onDirty(isTyped.current || isRestricted), [isRestricted, onDirty]);
  useEffect(() => () => onDirty(false), [onDirty]);
  const save = async (values: ApiKeyValues) => {
    // The button is disabled meanwhile, but Ctrl Enter still arrives.
    if (isSaving) return;
    setFailure(undefined);
    setIsAboutRestrictions(false);
    if (restrictions && !areRestrictionsGood(restrictions)) return;
    setIsSaving(true);
    try {
      await onSave(tidied(values), restrictions && changedSettings(noRestrictions, restrictions.values));
    } catch (error) {
      showIssues(form, error);
      setIsAboutRestrictions(restrictions !== undefined && showRestrictionIssues(restrictions, error));
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
      onSubmit={form.onSubmit(save, (errors) => {
        // All fields that need work are shown together, and the first one gets the focus.
        restrictions?.validate();
        focusFirstError(form.getInputNode)(errors);
      })}
    >
      {failure && !hasIssueOf(form, failure) && !isAboutRestrictions && (
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
        description="The service that uses the key. Optional."
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
          <RestrictionDisclosure form={restrictions} />
          <KeyReview values={restrictions.values} />
        </>
      )}
      <Group justify="flex-end" gap={8} className={classes.foot}>
        <Button variant="default" onClick={onCancel} disabled={isSaving}>
          Cancel
        </Button>
        <Button type="submit" loading={isSaving}>
          {restrictions ? "Create key" : "Save"}
        </Button>
      </Group>
    </form>
  );
}
