import { Button, Textarea, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { getHotkeyHandler } from "@mantine/hooks";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { KeyboardEvent, ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import { trpc, type Workspace } from "../../server/trpc.ts";
import { useConflict } from "../../server/use-conflict.tsx";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { useLatestValues } from "../../ui/use-latest-values.ts";
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
  const form = useForm<WorkspaceValues>({
    // Named, because a page can contain two forms with a field of this name.
    name: "workspace-settings",
    mode: "uncontrolled",
    initialValues: valuesOf(workspace),
    validate: workspaceRules,
  });
  useUnsavedInput(form.isDirty);
  const { base, notice, clear, onError, omitReported } = useConflict({
    noun: "workspace",
    item: workspace,
    load: () => queryClient.fetchQuery({ ...query, staleTime: 0 }),
    hasInput: form.isDirty,
    // The other sections of the page change the version too.
    isSame: (before, after) => Object.keys(changesBetween(valuesOf(before), valuesOf(after))).length === 0,
    describe: (item) => {
      const { name, description } = valuesOf(item);
      return { [workspaceLabels.name]: name, [workspaceLabels.description]: description };
    },
  });
  useLatestValues(form, valuesOf(base));
  const update = useMutation(
    trpc.workspaces.update.mutationOptions({
      onSuccess: (updated, submitted) => {
        const latest = { ...workspace, ...updated };
        // The header and the overview read the workspace from the same query.
        queryClient.setQueryData(query.queryKey, latest);
        clear(latest);
        const { name = base.name, description = valuesOf(base).description } = submitted;
        const typed = changesBetween({ name, description }, normalizeValues(form.getValues()));
        const saved = valuesOf(latest);
        // Keeps what was typed while the call was in flight.
        if (typed.name === undefined) form.setFieldValue("name", saved.name);
        if (typed.description === undefined) form.setFieldValue("description", saved.description);
        form.resetDirty(saved);
        notifications.show({ message: "Workspace settings saved." });
      },
      onError: async (error) => {
        showIssues(form, error);
        await onError(error);
        if (describeFailure(error).code === "FORBIDDEN")
          await queryClient.invalidateQueries({ queryKey: query.queryKey });
      },
    }),
  );
  const save = () => {
    if (update.isPending) return;
    const changes = changesBetween(valuesOf(base), normalizeValues(form.getValues()));
    clear();
    // Saving would increment the version, and anyone else who edits the workspace would get a
    // conflict for no reason.
    if (Object.keys(changes).length === 0) {
      form.reset();
      notifications.show({ message: "There are no changes to save." });
      return;
    }
    update.mutate({ workspaceId: workspace.id, ...changes, version: base.version });
  };
  const submit = (event: KeyboardEvent | globalThis.KeyboardEvent) => {
    if (event.target instanceof HTMLTextAreaElement) event.target.form?.requestSubmit();
  };
  const error = omitReported(update.error);
  const failure = error ? describeFailure(error) : undefined;
  return (
    <form
      className={classes.form}
      noValidate
      onReset={form.onReset}
      onSubmit={form.onSubmit(save, focusFirstError(form.getInputNode))}
    >
      {notice}
      {failure && !hasIssueOf(form, failure) && (
        <FormFailure message={failure.message} requestId={failure.requestId} />
      )}
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
