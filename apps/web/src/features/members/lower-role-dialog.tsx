import { Modal } from "@mantine/core";
import { useIsMutating, useSuspenseQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { withArticle } from "../../server/roles.ts";
import { type Member, type Role, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { ConfirmAnswer } from "../../ui/confirm-answer.tsx";
import classes from "../../ui/dialog.module.css";
import { Quoted } from "../../ui/quoted.tsx";
import { describeRefusedChange, useRoleChange } from "./use-role-change.tsx";

/** The person themselves, and the role that they have chosen. */
export interface Lowering {
  readonly member: Member;
  readonly role: Role;
}

interface LowerRoleDialogProps {
  readonly workspace: SessionWorkspace;
  /** The dialog is open while there is one. */
  readonly lowering: Lowering | undefined;
  readonly onClose: () => void;
}

/** Asks before somebody takes power from themselves that they cannot give back. */
export function LowerRoleDialog({ workspace, lowering, onClose }: LowerRoleDialogProps): ReactElement {
  const isChanging = useIsMutating({ mutationKey: trpc.members.changeRole.mutationKey() }) > 0;
  return (
    <Modal
      opened={lowering !== undefined}
      {...closeUnlessBusy(isChanging, onClose)}
      title="Lower your own role?"
      size={480}
    >
      {lowering && <Confirmation workspace={workspace} lowering={lowering} onClose={onClose} />}
    </Modal>
  );
}

function Confirmation(props: LowerRoleDialogProps & { readonly lowering: Lowering }): ReactElement {
  const { workspace, lowering, onClose } = props;
  const { member, role } = lowering;
  const change = useRoleChange(workspace.id, member, onClose);
  const { data: table } = useSuspenseQuery(trpc.instance.permissions.queryOptions());
  const lost = table.filter(({ roles }) => roles.includes(member.role) && !roles.includes(role));
  return (
    <>
      <p className={classes.words}>
        You become {withArticle(role)} of <Quoted>{workspace.name}</Quoted> instead of{" "}
        {withArticle(member.role)}, and your API keys with you. You can’t undo this yourself.
        {lost.length > 0 && " You will no longer be able to:"}
      </p>
      {lost.length > 0 && (
        <ul className={classes.points}>
          {lost.map(({ name, description }) => (
            <li key={name}>{description}</li>
          ))}
        </ul>
      )}
      <ConfirmAnswer
        action={`Become ${withArticle(role)}`}
        failure={change.error ? describeRefusedChange(change.error) : undefined}
        isBusy={change.isPending}
        onCancel={onClose}
        onConfirm={() => change.mutate(role)}
      />
    </>
  );
}
