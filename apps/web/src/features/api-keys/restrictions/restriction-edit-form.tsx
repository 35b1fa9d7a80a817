import { Button, Group } from "@mantine/core";
import { useQueryClient } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type ReactElement, useEffect, useRef, useState } from "react";
import { type ApiKey, trpc } from "../../../server/trpc.ts";
import { useConflict } from "../../../server/use-conflict.tsx";
import { BusyButton } from "../../../ui/busy-button.tsx";
import classes from "../../../ui/dialog.module.css";
import { FormFailure } from "../../../ui/form-failure.tsx";
import { useUnsavedInput } from "../../../ui/unsaved-input.ts";
import { useLatestValues } from "../../../ui/use-latest-values.ts";
import { useKeyChange } from "../use-key-change.ts";
import {
  describeExpiry,
  describeLimit,
  describePermissions,
  describeRanges,
  describeWorkspaces,
} from "./describe-restrictions.ts";
import { ExpandAccessDialog } from "./expand-access-dialog.tsx";
import { RestrictionFields } from "./restriction-fields.tsx";
import { changedSettings, readRestrictions } from "./restriction-values.ts";
import { showRestrictionIssues, useRestrictionForm, validateRestrictions } from "./use-restriction-form.ts";

const app = getRouteApi("/app");

const restrictions = [
  ["expiry", "expiryDate"],
  ["quota", "window", "windowSeconds"],
] as const;

interface RestrictionEditFormProps {
  /** The latest version of the key. The edit stays based on the version that the form showed first. */
  readonly apiKey: ApiKey;
  /** The field that gets the focus; the first one by default. */
  readonly field: string | undefined;
  readonly onDone: () => void;
}

/** Edits the restrictions of a key. Saves only if the key still has the version that the user saw. */
export function RestrictionEditForm({ apiKey, field, onDone }: RestrictionEditFormProps): ReactElement {
  const queryClient = useQueryClient();
  const { workspaces } = app.useRouteContext().session;
  const { base, notice, clear, onError } = useConflict({
    noun: "API key",
    item: apiKey,
    load: () => queryClient.fetchQuery(trpc.apiKeys.get.queryOptions({ id: apiKey.id }, { staleTime: 0 })),
    describe: (key) => ({
      Expires: describeExpiry(key.expiresAt),
      Permissions: describePermissions(key, key.serviceAccount !== null),
      Workspaces: describeWorkspaces(key.workspaceIds, workspaces),
      "IP ranges": describeRanges(key.ipRanges),
      "Rate limit": describeLimit(key.limit),
    }),
  });
  const initialValues = readRestrictions(base);
  const form = useRestrictionForm(initialValues);
  useUnsavedInput(form.isDirty);
  useLatestValues(form, initialValues, restrictions);
  const change = useKeyChange();
  const [hasFieldIssues, setHasFieldIssues] = useState(false);
  /** Whether the current version couldn't be loaded after a conflict. */
  const [isConflictUnreported, setIsConflictUnreported] = useState(false);
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
    setIsConflictUnreported(false);
    clear();
    change.change({
      base,
      settings,
      onSaved: onDone,
      onFailed: async (error) => {
        setHasFieldIssues(showRestrictionIssues(form, error));
        setIsConflictUnreported(!(await onError(error)));
      },
    });
  };
  return (
    <form
      ref={element}
      className={classes.form}
      noValidate
      aria-label="Restrictions"
      onReset={form.onReset}
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      {notice}
      {change.failure && (!isConflict || isConflictUnreported) && !hasFieldIssues && !change.expansions && (
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
