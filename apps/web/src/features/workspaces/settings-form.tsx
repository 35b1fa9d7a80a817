import { Button, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { getHotkeyHandler } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type KeyboardEvent, type ReactElement, useEffect, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import { trpc, type Workspace } from "../../server/trpc.ts";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { SettingsConflict } from "./settings-conflict.tsx";
import classes from "./settings-form.module.css";
import {
  changesBetween,
  normalizeValues,
  valuesOf,
  type WorkspaceValues,
  workspaceLabels,
  workspaceRules,
} from "./workspace-values.ts";

/** Edits a workspace. Saves only if it still has the version that the user saw. */
export function SettingsForm({ workspace }: { readonly workspace: Workspace }): ReactElement {
  const queryClient = useQueryClient();
  const query = trpc.workspaces.get.queryOptions({ workspaceId: workspace.id });
  /** The version that the edit is based on. Follows the server until the user types something. */
  const [base, setBase] = useState(workspace);
  /** The fields that someone else changed during the edit. */
  const [concurrentChanges, setConcurrentChanges] = useState<Partial<WorkspaceValues>>();
  const form = useForm<WorkspaceValues>({
    // Named, because a page can contain two forms with a field of this name.
    name: "workspace-settings",
    mode: "uncontrolled",
    initialValues: valuesOf(workspace),
    validate: workspaceRules,
  });
  useUnsavedInput(form.isDirty);
  const typedChanges = () => changesBetween(valuesOf(base), normalizeValues(form.getValues()));
  const rebase = (latest: Workspace) => {
    setBase(latest);
    setConcurrentChanges(undefined);
    form.setInitialValues(valuesOf(latest));
    form.setValues(valuesOf(latest));
    form.resetDirty();
  };
  useEffect(() => {
    if (workspace.version !== base.version && !concurrentChanges && !form.isDirty()) rebase(workspace);
  });
  const update = useMutation(
    trpc.workspaces.update.mutationOptions({
      onSuccess: (updated) => {
        const latest = { ...workspace, ...updated };
        // The header and the overview read the workspace from the same query.
        queryClient.setQueryData(query.queryKey, latest);
        rebase(latest);
        notifications.show({ message: "Workspace settings saved." });
      },
      onError: async (error) => {
        showIssues(form, error);
        const { code } = describeFailure(error);
        if (code !== "PRECONDITION_FAILED" && code !== "FORBIDDEN") return;
        const latest = await queryClient.fetchQuery({ ...query, staleTime: 0 });
        if (code === "FORBIDDEN") return;
        // Fields that the user didn't edit show the saved values, so that saving again doesn't
        // revert them.
        form.setValues({ ...valuesOf(latest), ...typedChanges() });
        setConcurrentChanges(changesBetween(base, latest));
        setBase(latest);
      },
    }),
  );
  const save = () => {
    if (update.isPending) return;
    const changes = typedChanges();
    // Saving would increment the version, and anyone else who edits the workspace would get a
    // conflict for no reason.
    if (Object.keys(changes).length === 0) {
      rebase(base);
      notifications.show({ message: "There are no changes to save." });
      return;
    }
    update.mutate({ workspaceId: workspace.id, ...changes, version: base.version });
  };
  const submit = (event: KeyboardEvent | globalThis.KeyboardEvent) => {
    if (event.target instanceof HTMLTextAreaElement) event.target.form?.requestSubmit();
  };
  const failure = update.error ? describeFailure(update.error) : undefined;
  const isShown = failure && failure.code !== "PRECONDITION_FAILED" && !hasIssueOf(form, failure);
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit(save, focusFirstError(form.getInputNode))}
    >
      {concurrentChanges && (
        <SettingsConflict concurrentChanges={concurrentChanges} onDiscard={() => rebase(base)} />
      )}
      {isShown && <FormFailure message={failure.message} requestId={failure.requestId} />}
      <TextInput
        {...form.getInputProps("name")}
        key={form.key("name")}
        label={workspaceLabels.name}
        description="Shown to all members. The URL stays the same."
        autoComplete="off"
        dir="auto"
        required
        withAsterisk={false}
      />
      <Textarea
        {...form.getInputProps("description")}
        key={form.key("description")}
        label={workspaceLabels.description}
        description="The purpose of the workspace. Shown on its overview. Optional."
        dir="auto"
        autosize
        minRows={2}
        maxRows={8}
        onKeyDown={getHotkeyHandler([["mod+Enter", submit]])}
      />
      <Button className={classes.submit} type="submit" variant="filled" aria-busy={update.isPending}>
        {update.isPending ? "Saving…" : "Save"}
      </Button>
    </form>
  );
}
