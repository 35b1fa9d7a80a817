import { useDocumentTitle } from "@mantine/hooks";
import { useIsFetching, useQueryClient } from "@tanstack/react-query";
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
  const [result, setResult] = useState<string>();
  // The list of workspaces comes from the session, which may have been loaded before the workspace was disabled.
  useEffect(() => {
    if (!isDisabled) void sessionChanges.update(id, { isDisabled: true });
  }, [id, isDisabled, sessionChanges]);
  const { queryKey } = trpc.workspaces.get.queryOptions({ workspaceId: id });
  const check = async () => {
    // An unchanged text would not be announced again.
    setResult(undefined);
    await queryClient.invalidateQueries({ queryKey });
    const { status, error } = queryClient.getQueryState(queryKey) ?? {};
    if (status === "success") await sessionChanges.update(id, { isDisabled: false });
    else setResult(isUnanswered(error) ? describeFailure(error).message : "The workspace is still disabled.");
  };
  const isChecking = useIsFetching({ queryKey }) > 0;
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
