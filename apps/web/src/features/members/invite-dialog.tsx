import { Button, Group, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useIsMutating, useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { type ReactElement, useContext, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { RoleSelect } from "../../server/role-select.tsx";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import { type Role, type SentInvitation, type SessionWorkspace, trpc } from "../../server/trpc.ts";
import classes from "../../ui/dialog.module.css";
import { checkEmail } from "../../ui/field-rules.ts";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormActions } from "../../ui/form-actions.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { Quoted } from "../../ui/quoted.tsx";
import { CurrentCloseGuard, usePendingSecrets } from "../../ui/uncopied-secrets.ts";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import { InvitationLink } from "./invitation-link.tsx";

interface InviteDialogProps {
  readonly workspace: SessionWorkspace;
  readonly grantableRoles: readonly Role[];
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

/** Invites a person to a workspace, then shows the link. */
export function InviteDialog(props: InviteDialogProps): ReactElement {
  const { workspace, isOpen, onClose } = props;
  const isSending = useIsMutating({ mutationKey: trpc.invitations.create.mutationKey() }) > 0;
  return (
    <FormDialog
      isOpen={isOpen}
      isBusy={isSending}
      title={
        <>
          Invite a member to <Quoted>{workspace.name}</Quoted>
        </>
      }
      size={560}
      onClose={onClose}
    >
      <Invite {...props} />
    </FormDialog>
  );
}

function Invite({ workspace, grantableRoles, onClose }: InviteDialogProps): ReactElement {
  const [sent, setSent] = useState<SentInvitation>();
  const { attempt } = useContext(CurrentCloseGuard);
  const [isAnother, setIsAnother] = useState(false);
  const inviteAnother = () => {
    setSent(undefined);
    setIsAnother(true);
  };
  if (!sent) {
    return (
      <InviteForm
        workspace={workspace}
        grantableRoles={grantableRoles}
        isAnother={isAnother}
        onSent={setSent}
        onClose={onClose}
      />
    );
  }
  return (
    <>
      <InvitationLink invitation={sent} />
      <Group justify="flex-end" gap={8}>
        <Button variant="default" onClick={() => attempt(inviteAnother)}>
          Invite another
        </Button>
        <Button onClick={() => attempt(onClose)} autoFocus={sent.url === undefined}>
          Done
        </Button>
      </Group>
    </>
  );
}

interface InviteFormProps extends Omit<InviteDialogProps, "isOpen"> {
  /** Whether the dialog is already open, so that the form itself takes the focus. */
  readonly isAnother: boolean;
  readonly onSent: (invitation: SentInvitation) => void;
}

function InviteForm(props: InviteFormProps): ReactElement {
  const { workspace, grantableRoles, isAnother, onSent, onClose } = props;
  const { sendsEmail } = useSuspenseQuery(trpc.instance.get.queryOptions()).data;
  const queryClient = useQueryClient();
  const form = useForm({
    name: "invite",
    mode: "uncontrolled",
    initialValues: { email: "", role: "member" as Role },
    validate: { email: checkEmail },
  });
  useUnsavedInput(form.isDirty);
  const create = useMutation(
    trpc.invitations.create.mutationOptions({
      onSuccess: (invitation) => {
        void queryClient.invalidateQueries({ queryKey: trpc.invitations.list.pathKey() });
        onSent(invitation);
      },
      onError: (error) => {
        const failure = describeFailure(error);
        if (failure.code !== "CONFLICT") return void showIssues(form, error);
        form.setFieldError("email", failure.message);
        form.getInputNode("email")?.focus();
      },
    }),
  );
  // Beyond ten emails to one person, the response has the link.
  usePendingSecrets(create.isPending);
  const failure = create.error ? describeFailure(create.error) : undefined;
  const isShownUnderFields = failure && (failure.code === "CONFLICT" || hasIssueOf(form, failure));
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit(({ email, role }) => {
        if (!create.isPending) create.mutate({ workspaceId: workspace.id, email: email.trim(), role });
      }, focusFirstError(form.getInputNode))}
    >
      {failure && !isShownUnderFields && (
        <FormFailure message={failure.message} requestId={failure.requestId} />
      )}
      <TextInput
        {...form.getInputProps("email")}
        key={form.key("email")}
        label="Email address"
        description="They join by signing in or signing up with this email address."
        placeholder="grace@example.com"
        type="email"
        autoComplete="off"
        data-autofocus
        autoFocus={isAnother}
        required
        withAsterisk={false}
      />
      <RoleSelect {...form.getInputProps("role")} key={form.key("role")} roles={grantableRoles} />
      <FormActions
        action={sendsEmail ? "Send invitation" : "Create invitation"}
        isBusy={create.isPending}
        onCancel={onClose}
      />
    </form>
  );
}
