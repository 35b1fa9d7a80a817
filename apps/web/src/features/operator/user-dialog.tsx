import { Button, Group } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { type ReactElement, useContext } from "react";
import { trpc, trpcClient, type UserOverview } from "../../server/trpc.ts";
import { countOf } from "../../ui/count.ts";
import { describeExactly } from "../../ui/elapsed.ts";
import { OneTimeLink } from "../../ui/one-time-link.tsx";
import { CurrentCloseGuard, usePendingSecrets } from "../../ui/uncopied-secrets.ts";
import { ActionConfirmation, ActionDialog, type ActionWording } from "./action-dialog.tsx";
import type { UserAction } from "./user-actions.tsx";

/** A user, and what to do with them. */
export interface UserChoice {
  readonly user: UserOverview;
  readonly action: UserAction;
  /** Whether the user is the operator. */
  readonly isOwn: boolean;
}

interface UserDialogProps {
  /** The dialog is open if it is defined. */
  readonly choice: UserChoice | undefined;
  readonly onClose: () => void;
}

const wordings: Readonly<Record<UserAction, ActionWording>> = {
  disable: {
    title: (name) => <>Disable {name}?</>,
    effect:
      "They are signed out immediately, and can’t sign in. All of their API keys are rejected from the next request. You can enable them again.",
    button: "Disable user",
    done: (name) => `“${name}” is disabled.`,
    isDangerous: true,
  },
  enable: {
    title: (name) => <>Enable {name}?</>,
    effect: "They can sign in again, and their API keys are allowed again from the next request.",
    button: "Enable user",
    done: (name) => `“${name}” is enabled.`,
    isDangerous: false,
  },
  "end-sessions": {
    title: (name) => <>End all sessions of {name}?</>,
    effect: "They are signed out of all devices immediately. Their API keys keep working.",
    button: "End sessions",
    done: (name) => `“${name}” is signed out of all devices.`,
    isDangerous: true,
  },
  "reset-link": {
    title: (name) => <>Reset link for {name}</>,
    effect:
      "Anyone with the link can choose a new password for this account, once, within 24 hours. Earlier links become invalid. Verify the identity of the user, and send the link over a channel that only they can read.",
    button: "Create link",
    done: () => "",
    isDangerous: false,
  },
  grant: {
    title: (name) => <>Make {name} an operator?</>,
    effect:
      "They can manage all users of this instance, see the instance log, and make other users operators. They don’t become a member of any workspace.",
    button: "Make an operator",
    done: (name) => `“${name}” is now an operator.`,
    isDangerous: false,
  },
  revoke: {
    title: (name) => <>Revoke the operator role of {name}?</>,
    effect: "They can no longer manage this instance. Their account and their workspaces stay as they are.",
    button: "Revoke operator role",
    done: (name) => `“${name}” is no longer an operator.`,
    isDangerous: true,
  },
};

/** What is different if operators choose an action for their own account. */
const ownWordings: Readonly<Partial<Record<UserAction, ActionWording>>> = {
  disable: {
    title: () => "Disable your account?",
    effect:
      "You are signed out immediately, and can’t sign in. All of your API keys are rejected from the next request. Another operator can enable your account again.",
    button: "Disable your account",
    done: () => "Your account is disabled.",
    isDangerous: true,
  },
  "end-sessions": {
    title: () => "End all of your sessions?",
    effect: "You are signed out of all devices immediately, including this one. Your API keys keep working.",
    button: "End sessions",
    done: () => "You are signed out of all devices.",
    isDangerous: true,
  },
  revoke: {
    title: () => "Revoke your operator role?",
    effect:
      "You can no longer manage this instance or see these pages. To become an operator again, ask another operator. Your account and your workspaces stay as they are.",
    button: "Revoke operator role",
    done: () => "You are no longer an operator.",
    isDangerous: true,
  },
};

function wordingFor({ action, isOwn }: UserChoice): ActionWording {
  return (isOwn && ownWordings[action]) || wordings[action];
}

/** Performs an action. Returns the reset link if it created one. */
async function perform({ user, action }: UserChoice): Promise<ResetLink | undefined> {
  const { operator } = trpcClient;
  const input = { userId: user.id };
  switch (action) {
    case "disable":
      await operator.disableUser.mutate(input);
      return undefined;
    case "enable":
      await operator.enableUser.mutate(input);
      return undefined;
    case "end-sessions":
      await operator.endSessions.mutate(input);
      return undefined;
    case "reset-link":
      return await operator.createResetLink.mutate(input);
    case "grant":
      await operator.grantRole.mutate(input);
      return undefined;
    case "revoke":
      await operator.revokeRole.mutate(input);
      return undefined;
    default:
      return action satisfies never;
  }
}

interface ResetLink {
  readonly url: string;
  readonly expiresAt: string;
}

const mutationKey = ["operator", "user"];

/** Says what an action does before it is performed. */
export function UserDialog({ choice, onClose }: UserDialogProps): ReactElement {
  return (
    <ActionDialog
      wording={choice && wordingFor(choice)}
      name={choice?.user.name}
      mutationKey={mutationKey}
      onClose={onClose}
    >
      {choice && <Confirmation choice={choice} onClose={onClose} />}
    </ActionDialog>
  );
}

function Confirmation({ choice, onClose }: { readonly choice: UserChoice; readonly onClose: () => void }) {
  const { user, action, isOwn } = choice;
  const wording = wordingFor(choice);
  const queryClient = useQueryClient();
  const leaveOperatorPages = useLeaveOperatorPages();
  const change = useMutation({
    mutationKey,
    mutationFn: () => perform(choice),
    onSuccess: async (link) => {
      const isResignation = isOwn && action === "revoke";
      if (!isResignation) await queryClient.invalidateQueries({ queryKey: trpc.operator.pathKey() });
      if (link) return;
      onClose();
      if (isResignation) await leaveOperatorPages();
      notifications.show({ message: wording.done(user.name) });
    },
  });
  usePendingSecrets(change.isPending && action === "reset-link");
  if (change.data) return <ResetLinkShown user={user} link={change.data} onClose={onClose} />;
  return (
    <ActionConfirmation
      wording={wording}
      error={change.error}
      isBusy={change.isPending}
      onCancel={onClose}
      onConfirm={() => change.mutate()}
    >
      <dt>Email address</dt>
      <dd>{user.email}</dd>
      <dt>Last sign-in</dt>
      <dd>{user.lastSignInAt ? describeExactly(new Date(user.lastSignInAt)) : "Never"}</dd>
      <dt>Access</dt>
      <dd>
        {countOf(user.workspaceCount, "workspace", "workspaces")},{" "}
        {countOf(user.keyCount, "API key", "API keys")}
      </dd>
    </ActionConfirmation>
  );
}

/**
 * Opens the start page for a user who is no longer an operator. Doesn't load the operator queries again,
 * because the API would reject them.
 */
function useLeaveOperatorPages(): () => Promise<void> {
  const router = useRouter();
  const queryClient = useQueryClient();
  return async () => {
    queryClient.setQueryData(
      trpc.session.current.queryKey(),
      (session) => session && { ...session, user: { ...session.user, isOperator: false } },
    );
    await router.navigate({ to: "/", replace: true });
    queryClient.removeQueries({ queryKey: trpc.operator.pathKey() });
  };
}

function ResetLinkShown({
  user,
  link,
  onClose,
}: {
  readonly user: UserOverview;
  readonly link: ResetLink;
  readonly onClose: () => void;
}): ReactElement {
  const { attempt } = useContext(CurrentCloseGuard);
  return (
    <>
      <OneTimeLink url={link.url}>
        Send this link to <strong>{user.email}</strong>. It works once, until{" "}
        {describeExactly(new Date(link.expiresAt))}.
      </OneTimeLink>
      <Group justify="flex-end">
        <Button onClick={() => attempt(onClose)}>Done</Button>
      </Group>
    </>
  );
}
