import { Button, Group } from "@mantine/core";
import { type ReactElement, useEffect, useRef, useState } from "react";
import type { ApiKey } from "../../../server/trpc.ts";
import { BusyButton } from "../../../ui/busy-button.tsx";
import classes from "../../../ui/dialog.module.css";
import { FormFailure } from "../../../ui/form-failure.tsx";
import { useUnsavedInput } from "../../../ui/unsaved-input.ts";
import { KeyConflict } from "../key-conflict.tsx";
import { useKeyChange } from "../use-key-change.ts";
import { ExpandAccessDialog } from "./expand-access-dialog.tsx";
import { RestrictionFields } from "./restriction-fields.tsx";
import { changedSettings, readRestrictions } from "./restriction-values.ts";
import { showRestrictionIssues, useRestrictionForm, validateRestrictions } from "./use-restriction-form.ts";

interface RestrictionEditFormProps {
  /**
   * The latest version of the key. Input is kept if it changes, but the API then rejects the input
   * with a conflict.
   */
  readonly apiKey: ApiKey;
  /** The field that gets the focus; the first one by default. */
  readonly field: string | undefined;
  readonly onDone: () => void;
}

/**
 * Edits the restrictions of a key. After a conflict, the form restarts from the current settings.
 */
export function RestrictionEditForm({ apiKey, field, onDone }: RestrictionEditFormProps): ReactElement {
  const [base, setBase] = useState(apiKey);
  const [conflictedVersion, setConflictedVersion] = useState<number>();
  if (conflictedVersion === base.version && apiKey.version !== base.version) setBase(apiKey);
  return (
    <>
      {conflictedVersion !== undefined && conflictedVersion !== base.version && (
        <KeyConflict key={base.version} />
      )}
      <Fields
        key={`fields-${base.version}`}
        base={base}
        field={field}
        onDone={onDone}
        onConflict={() => setConflictedVersion(base.version)}
      />
    </>
  );
}

interface FieldsProps {
  readonly base: ApiKey;
  readonly field: string | undefined;
  readonly onDone: () => void;
  readonly onConflict: () => void;
}

function Fields({ base, field, onDone, onConflict }: FieldsProps): ReactElement {
  const [initialValues] = useState(() => readRestrictions(base));
  const form = useRestrictionForm(initialValues);
  useUnsavedInput(form.isDirty);
  const change = useKeyChange();
  const [hasFieldIssues, setHasFieldIssues] = useState(false);
  const isConflict = change.failure?.code === "PRECONDITION_FAILED";
  const element = useRef<HTMLFormElement>(null);
  // The button that opened the form was removed.
  const [focusedField] = useState(field);
  useEffect(() => {
    const find = (selector: string) => element.current?.querySelector<HTMLElement>(selector);
    const chosen = focusedField && find(`[data-path$="${focusedField}"]`);
    (chosen || find("input, textarea"))?.focus();
  }, [focusedField]);
  const save = () => {
    if (!validateRestrictions(form)) return;
    const settings = changedSettings(initialValues, form.values);
    if (Object.keys(settings).length === 0) return onDone();
    setHasFieldIssues(false);
    change.change({
      base,
      settings,
      onSaved: onDone,
      onFailed: (error, code) => {
        if (code === "PRECONDITION_FAILED") onConflict();
        setHasFieldIssues(showRestrictionIssues(form, error));
      },
    });
  };
  return (
    <form
      ref={element}
      className={classes.form}
      noValidate
      aria-label="Restrictions"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      {change.failure && !isConflict && !hasFieldIssues && !change.expansions && (
        <FormFailure message={change.failure.message} requestId={change.failure.requestId} />
      )}
      <RestrictionFields
        form={form}
        expiresAt={base.expiresAt}
        hasOneWorkspace={base.serviceAccount !== null}
      />
      <Group justify="flex-end" gap={8}>
        <Button variant="default" onClick={onDone} disabled={change.isSaving}>
          Cancel
        </Button>
        <BusyButton type="submit" loading={change.isSaving && !change.expansions}>
          Save restrictions
        </BusyButton>
      </Group>
      <ExpandAccessDialog
        expansions={change.expansions}
        isSaving={change.isSaving}
        failure={change.failure}
        onConfirm={change.confirm}
        onCancel={change.cancel}
      />
    </form>
  );
}
