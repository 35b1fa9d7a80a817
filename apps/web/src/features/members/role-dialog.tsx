import { useIsMutating, useSuspenseQuery } from "@tanstack/react-query";
import { type ReactElement, useContext, useState } from "react";
import { withArticle } from "../../server/roles.ts";
import {
  type Member,
  type PermissionRow,
  type Role,
  type SessionWorkspace,
  trpc,
} from "../../server/trpc.ts";
import { ConfirmActions } from "../../ui/confirm-actions.tsx";
import classes from "../../ui/dialog.module.css";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { Quoted } from "../../ui/quoted.tsx";
import { CurrentCloseGuard } from "../../ui/uncopied-secrets.ts";
import { KeyImpact } from "./key-impact.tsx";
import { OfferOwnership } from "./offer-ownership.tsx";
import { useIsReplacingKeys } from "./use-is-replacing-keys.ts";
import { describeRejectedChange, useRoleChange } from "./use-role-change.tsx";

/** A member and the role selected for them. */
export interface RoleChoice {
  readonly member: Member;
  readonly role: Role;
}

interface RoleDialogProps {
  readonly workspace: SessionWorkspace;
  readonly ownId: string;
  /** The dialog is open if it is defined. */
  readonly choice: RoleChoice | undefined;
  readonly onClose: () => void;
}

/**
 * Explains a new role before it is granted, because it applies to the member's API keys
 * immediately.
 */
export function RoleDialog({ workspace, ownId, choice, onClose }: RoleDialogProps): ReactElement {
  const isChanging = useIsMutating({ mutationKey: trpc.members.changeRole.mutationKey() }) > 0;
  const isReplacing = useIsReplacingKeys();
  return (
    <FormDialog
      isOpen={choice !== undefined}
      isBusy={isChanging || isReplacing}
      title={
        choice &&
        (choice.member.userId === ownId ? (
          "Change your own role?"
        ) : (
          <>
            Change the role of <Quoted>{choice.member.name}</Quoted>?
          </>
        ))
      }
      size={480}
      onClose={onClose}
    >
      {choice && <Confirmation workspace={workspace} ownId={ownId} choice={choice} onClose={onClose} />}
    </FormDialog>
  );
}

function Confirmation(props: RoleDialogProps & { readonly choice: RoleChoice }): ReactElement {
  const { workspace, ownId, choice, onClose } = props;
  const { member, role } = choice;
  const isSelf = member.userId === ownId;
  const [isReplaced, setIsReplaced] = useState(false);
  const isReplacing = useIsReplacingKeys();
  const { attempt, mayClose, discard } = useContext(CurrentCloseGuard);
  const cancelLabel = "Keep the role for now";
  const change = useRoleChange(workspace.id, member, { onSuccess: discard, onRefreshed: onClose });
  const { data: table } = useSuspenseQuery(trpc.instance.permissions.queryOptions());
  const isGrantedTo = (grantee: Role) => (row: PermissionRow) => row.roles.includes(grantee);
  const lost = table.filter((row) => isGrantedTo(member.role)(row) && !isGrantedTo(role)(row));
  const gained = table.filter((row) => !isGrantedTo(member.role)(row) && isGrantedTo(role)(row));
  return (
    <>
      <p className={classes.words}>
        {isSelf ? (
          <>
            You become {withArticle(role)} of <Quoted>{workspace.name}</Quoted> instead of{" "}
            {withArticle(member.role)}. The change applies to your API keys on their next request.
            {lost.length > 0 && " You can’t undo it yourself."}
          </>
        ) : (
          <>
            <Quoted>{member.name}</Quoted> ({member.email ?? "service account"}) becomes {withArticle(role)}{" "}
            instead of {withArticle(member.role)}. The change applies to their API keys too, from their next
            request.
          </>
        )}
      </p>
      <PermissionList
        title={isSelf ? "You will no longer be able to:" : "They will no longer be able to:"}
        rows={lost}
      />
      <PermissionList title={isSelf ? "You will be able to:" : "They will be able to:"} rows={gained} />
      {lost.length > 0 && member.kind === "person" && (
        <KeyImpact
          workspace={workspace}
          member={member}
          isSelf={isSelf}
          role={role}
          cancelLabel={cancelLabel}
          onReplaced={() => setIsReplaced(true)}
        />
      )}
      {role === "owner" && !isSelf && member.kind === "person" && (
        <OfferOwnership workspaceId={workspace.id} member={member} onOffered={onClose} />
      )}
      <ConfirmActions
        isSticky
        action={isSelf ? `Become ${withArticle(role)}` : `Make ${withArticle(role)}`}
        failure={change.error ? describeRejectedChange(change.error) : undefined}
        isBusy={change.isPending}
        isDisabled={isReplacing}
        {...(isReplaced && { cancelLabel })}
        isDangerous={lost.length > 0}
        onCancel={() => attempt(onClose)}
        onConfirm={() => {
          if (mayClose()) change.mutate(role);
        }}
      />
    </>
  );
}

interface PermissionListProps {
  readonly title: string;
  readonly rows: readonly PermissionRow[];
}

/** Renders nothing if there are no rows. */
function PermissionList({ title, rows }: PermissionListProps): ReactElement | null {
  if (rows.length === 0) return null;
  return (
    <>
      <p className={classes.words}>{title}</p>
      <ul className={classes.points}>
        {rows.map(({ name, description }) => (
          <li key={name}>{description}</li>
        ))}
      </ul>
    </>
  );
}
