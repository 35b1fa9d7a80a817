import { Button, Group, Modal } from "@mantine/core";
import { useDisclosure, useDocumentTitle } from "@mantine/hooks";
import { useIsMutating } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { LeaveConfirmation } from "../features/members/leave-confirmation.tsx";
import { type Session, type SessionWorkspace, trpc } from "../server/trpc.ts";
import { closeUnlessBusy } from "../ui/close-unless-busy.ts";
import classes from "../ui/empty.module.css";
import { Quoted } from "../ui/quoted.tsx";

/** Replaces the pages of a workspace that requires a second factor, until the user has one. The user can leave. */
export function SecondFactorRequired({
  session,
  workspace,
}: {
  readonly session: Session;
  readonly workspace: SessionWorkspace;
}): ReactElement {
  useDocumentTitle("Second factor required · Latchkey");
  const [isLeaveOpen, leave] = useDisclosure(false);
  const isLeaving = useIsMutating({ mutationKey: trpc.members.leave.mutationKey() }) > 0;
  return (
    <section className={classes.panel}>
      <h1 className={classes.title}>
        <Quoted>{workspace.name}</Quoted> requires a second factor
      </h1>
      <p className={classes.words}>
        Set up an authenticator app or a passkey for your account, then come back. Until then, this workspace
        also rejects your API keys. Your account and your other workspaces are not affected.
      </p>
      <Group gap={8} justify="center">
        <Button renderRoot={(props) => <Link {...props} to="/account/security" />}>
          Set up a second factor
        </Button>
        <Button variant="default" onClick={leave.open}>
          Leave the workspace
        </Button>
      </Group>
      <Modal
        opened={isLeaveOpen}
        {...closeUnlessBusy(isLeaving, leave.close)}
        title={
          <>
            Leave <Quoted>{workspace.name}</Quoted>?
          </>
        }
        size={480}
      >
        <LeaveConfirmation
          workspace={workspace}
          user={session.user}
          canReplaceKeys={false}
          onClose={leave.close}
        />
      </Modal>
    </section>
  );
}
