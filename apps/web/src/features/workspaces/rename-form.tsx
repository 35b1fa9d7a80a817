import { Button, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useEffect, useRef, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import { trpc, type Workspace } from "../../server/trpc.ts";
import { collapseSpaces } from "../../ui/collapse-spaces.ts";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { Quoted } from "../../ui/quoted.tsx";
import classes from "./rename-form.module.css";
import { checkWorkspaceName } from "./workspace-name.ts";

/** Renames a workspace from the version that the person has seen, and no other. */
export function RenameForm({ workspace }: { readonly workspace: Workspace }): ReactElement {
  const queryClient = useQueryClient();
  const query = trpc.workspaces.get.queryOptions({ workspaceId: workspace.id });
  /** What the edit is made from; it follows the server until something is typed. */
  const [base, setBase] = useState(workspace);
  const [hasConflict, setHasConflict] = useState(false);
  const form = useForm({
    // Named, because a page may hold two forms with a field of this name.
    name: "rename-workspace",
    mode: "uncontrolled",
    initialValues: { name: workspace.name },
    validate: { name: checkWorkspaceName },
  });
  const rebase = (latest: Workspace) => {
    setBase(latest);
    setHasConflict(false);
    form.setInitialValues({ name: latest.name });
    form.setValues({ name: latest.name });
    form.resetDirty();
  };
  useEffect(() => {
    if (workspace.version !== base.version && !hasConflict && !form.isDirty()) rebase(workspace);
  });
  const rename = useMutation(
    trpc.workspaces.rename.mutationOptions({
      onSuccess: (renamed) => {
        const latest = { ...workspace, ...renamed };
        // The header hears of it through this too.
        queryClient.setQueryData(query.queryKey, latest);
        rebase(latest);
        notifications.show({
          message: (
            <>
              The workspace is now called <Quoted>{renamed.name}</Quoted>.
            </>
          ),
        });
      },
      onError: async (error) => {
        showIssues(form, error);
        const { code } = describeFailure(error);
        if (code !== "PRECONDITION_FAILED" && code !== "FORBIDDEN") return;
        const latest = await queryClient.fetchQuery({ ...query, staleTime: 0 });
        if (code === "FORBIDDEN") return;
        setBase(latest);
        setHasConflict(true);
      },
    }),
  );
  const failure = rename.error ? describeFailure(rename.error) : undefined;
  const isShown = failure && failure.code !== "PRECONDITION_FAILED" && !hasIssueOf(form, failure);
  return (
    <form
      noValidate
      onSubmit={form.onSubmit(({ name }) => {
        if (rename.isPending) return;
        rename.mutate({ workspaceId: workspace.id, name: collapseSpaces(name), version: base.version });
      }, focusFirstError(form.getInputNode))}
    >
      {hasConflict && <Conflict name={base.name} onKeep={() => rebase(base)} />}
      {isShown && (
        <div className={classes.failure}>
          <FormFailure message={failure.message} requestId={failure.requestId} />
        </div>
      )}
      <div className={classes.row}>
        <TextInput
          {...form.getInputProps("name")}
          key={form.key("name")}
          className={classes.field}
          aria-label="Name"
          description="Shown to all of its members. The address stays as it is."
          autoComplete="off"
          dir="auto"
        />
        <Button type="submit" variant="filled" aria-busy={rename.isPending} flex="none">
          {rename.isPending ? "Saving…" : "Rename"}
        </Button>
      </div>
    </form>
  );
}

interface ConflictProps {
  /** What it is called now. */
  readonly name: string;
  readonly onKeep: () => void;
}

/** Says that somebody else was first, and lets the person decide. */
function Conflict({ name, onKeep }: ConflictProps): ReactElement {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.focus(), []);
  return (
    <div className={classes.conflict} role="alert" ref={box} tabIndex={-1}>
      <p>
        Somebody changed the workspace meanwhile: it is called <Quoted>{name}</Quoted> now. Nothing of yours
        was saved. Press Rename again to replace that name.
      </p>
      <Button variant="default" onClick={onKeep}>
        Keep that name
      </Button>
    </div>
  );
}
