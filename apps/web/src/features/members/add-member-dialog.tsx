import { Button, Group, Modal } from "@mantine/core";
import type { ReactElement } from "react";
import type { SessionWorkspace } from "../../server/trpc.ts";
import { CodeLine } from "../../ui/code-line.tsx";
import classes from "../../ui/dialog.module.css";
import { Quoted } from "../../ui/quoted.tsx";

interface AddMemberDialogProps {
  readonly workspace: SessionWorkspace;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Shows the command with which the operator adds a member. */
export function AddMemberDialog({ workspace, isOpen, onClose }: AddMemberDialogProps): ReactElement {
  return (
    <Modal opened={isOpen} onClose={onClose} title="Add a member" size={560}>
      <p className={classes.words}>
        The operator of this instance adds members to <Quoted>{workspace.name}</Quoted> with this command. The
        new member must already have an account. Replace the email address in the command with theirs. They
        see the workspace when they next load a page.
      </p>
      <div className={classes.code}>
        <CodeLine
          code={`latchkey member add --workspace ${workspace.id} --user grace@example.com --role member`}
          copyLabel="Copy command"
        />
      </div>
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
      </Group>
    </Modal>
  );
}
