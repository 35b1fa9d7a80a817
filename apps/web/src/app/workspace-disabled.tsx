import { useDocumentTitle } from "@mantine/hooks";
import { useIsFetching, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactElement, useEffect, useState } from "react";
import { describeFailure } from "../server/failure.ts";
import { isUnanswered } from "../server/query-client.ts";
import { type SessionWorkspace, trpc } from "../server/trpc.ts";
import { useSessionChanges } from "../server/use-session-changes.ts";
import { BusyButton } from "../ui/busy-button.tsx";
import classes from "../ui/empty.module.css";
import { EmptyPanel } from "../ui/empty-panel.tsx";
import { Quoted } from "../ui/quoted.tsx";

/** Replaces the pages of a workspace that an operator disabled, until it is enabled. */
export function WorkspaceDisabled({ workspace }: { readonly workspace: SessionWorkspace }): ReactElement {
  useDocumentTitle("Workspace disabled · Latchkey");
  const queryClient = useQueryClient();
  const sessionChanges = useSessionChanges();
  const { id, isDisabled } = workspace;
  const [hasChecked, setHasChecked] = useState(false);
  // The list of workspaces comes from the session, which may have been loaded before the workspace was disabled.
  useEffect(() => {
    if (!isDisabled) void sessionChanges.update(id, { isDisabled: true });
  }, [id, isDisabled, sessionChanges]);
  const options = trpc.workspaces.get.queryOptions({ workspaceId: id });
  const { queryKey } = options;
  // Only the gate requests the workspace. Each of its requests updates the result, also the one after the server responds again.
  const { error } = useQuery({ ...options, enabled: false });
  const check = async () => {
    setHasChecked(true);
    await queryClient.invalidateQueries({ queryKey });
    if (queryClient.getQueryState(queryKey)?.status === "success")
      await sessionChanges.update(id, { isDisabled: false });
  };
  const isChecking = useIsFetching({ queryKey }) > 0;
  const answer = isUnanswered(error) ? describeFailure(error).message : "The workspace is still disabled.";
  // An unchanged text would not be announced again, so it is removed during each check.
  const result = hasChecked && !isChecking ? answer : undefined;
  return (
    <EmptyPanel
      level={1}
      title={
        <>
          <Quoted>{workspace.name}</Quoted> is disabled
        </>
      }
      action={
        <>
          <BusyButton variant="default" loading={isChecking} onClick={() => void check()}>
            Check again
          </BusyButton>
          <p className={classes.result} role="status">
            {result ?? "\u00a0"}
          </p>
        </>
      }
    >
      An operator of this instance disabled the workspace. You can’t use its pages, API keys are rejected in
      it, and its issued keys aren’t valid. Nothing was deleted. To have it enabled, contact an operator. Your
      account and your other workspaces are not affected.
    </EmptyPanel>
  );
}
