import { Button, Group } from "@mantine/core";
import { type ReactElement, useState } from "react";
import type { ApiKey } from "../../../server/trpc.ts";
import classes from "../../../ui/dialog.module.css";
import { FormFailure } from "../../../ui/form-failure.tsx";
import { KeyConflict } from "../key-conflict.tsx";
import { useKeyChange } from "../use-key-change.ts";
import { RestrictionFields } from "./restriction-fields.tsx";
import { changedSettings, readRestrictions } from "./restriction-values.ts";
import { areRestrictionsGood, showRestrictionIssues, useRestrictionForm } from "./use-restriction-form.ts";
import { WideningDialog } from "./widening-dialog.tsx";

interface RestrictionEditFormProps {
  /** As it is now; what is typed is kept while it changes, and refused if it was made from another version. */
  readonly apiKey: ApiKey;
  readonly onDone: () => void;
}

/** Edits what a key is held to. After a conflict it starts afresh from how the key is now. */
export function RestrictionEditForm({ apiKey, onDone }: RestrictionEditFormProps): ReactElement {
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
        onDone={onDone}
        onConflict={() => setConflictedVersion(base.version)}
      />
    </>
  );
}

interface FieldsProps {
  readonly base: ApiKey;
  readonly onDone: () => void;
  readonly onConflict: () => void;
}

function Fields({ base, onDone, onConflict }: FieldsProps): ReactElement {
  const [initialValues] = useState(() => readRestrictions(base));
  const form = useRestrictionForm(initialValues);
  const change = useKeyChange();
  const [isAboutFields, setIsAboutFields] = useState(false);
  const isConflict = change.failure?.code === "PRECONDITION_FAILED";
  const save = () => {
    if (!areRestrictionsGood(form)) return;
    const settings = changedSettings(initialValues, form.values);
    if (Object.keys(settings).length === 0) return onDone();
    setIsAboutFields(false);
    change.change({
      base,
      settings,
      onSaved: onDone,
      onFailed: (error, code) => {
        if (code === "PRECONDITION_FAILED") onConflict();
        setIsAboutFields(showRestrictionIssues(form, error));
      },
    });
  };
  return (
    <form
      className={classes.form}
      noValidate
      aria-label="Restrictions"
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      {change.failure && !isConflict && !isAboutFields && !change.widened && (
        <FormFailure message={change.failure.message} requestId={change.failure.requestId} />
      )}
      <RestrictionFields form={form} expiresAt={base.expiresAt} />
      <Group justify="flex-end" gap={8}>
        <Button variant="default" onClick={onDone} disabled={change.isSaving}>
          Cancel
        </Button>
        <Button type="submit" loading={change.isSaving && !change.widened}>
          Save restrictions
        </Button>
      </Group>
      <WideningDialog
        widened={change.widened}
        isSaving={change.isSaving}
        failure={change.failure}
        onConfirm={change.confirm}
        onCancel={change.cancel}
      />
    </form>
  );
}
