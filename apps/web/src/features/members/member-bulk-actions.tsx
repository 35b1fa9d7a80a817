import { Skeleton } from "@mantine/core";
import { type ComponentProps, type ReactElement, useState } from "react";
import { describeUnlessDeleted } from "../../server/describe-unless-deleted.ts";
import { queryClient } from "../../server/query-client.ts";
import { type Invitation, type Member, trpc, trpcClient } from "../../server/trpc.ts";
import type { BulkAction, BulkItems } from "../../ui/bulk-change.ts";
import { useLoaded } from "../../ui/use-loaded.ts";
import type { BulkKeyImpact } from "./bulk-key-impact.tsx";
import { refreshMembers } from "./refresh-members.ts";

const keyImpact = {
  load: () => import("./bulk-key-impact.tsx").then((module) => module.BulkKeyImpact),
};

function KeyImpact(props: ComponentProps<typeof BulkKeyImpact>): ReactElement | null {
  const isNeeded = props.members.length > 0;
  const [hasFailed, setHasFailed] = useState(false);
  const Loaded = useLoaded(keyImpact, isNeeded && !hasFailed, () => setHasFailed(true));
  if (!isNeeded || hasFailed) return null;
  return Loaded ? <Loaded {...props} /> : <Skeleton h={64} mb={16} />;
}

/** What can be done with several members. */
export function memberActions(workspaceId: string): readonly BulkAction<Member>[] {
  return [
    {
      verb: "Remove",
      done: "removed",
      consequence:
        "The selected members can no longer see this workspace, and their API keys lose access to it immediately. Their accounts and other workspaces are not affected.",
      isDangerous: true,
      preview: (members) => (
        <KeyImpact workspaceId={workspaceId} members={members.filter(({ kind }) => kind === "person")} />
      ),
      run: ({ userId }) => trpcClient.members.remove.mutate({ workspaceId, userId }),
    },
  ];
}

export const bulkMembers: Omit<BulkItems<Member>, "items"> = {
  nameOf: ({ name }) => name,
  nouns: ["member", "members"],
  describe: describeServiceAccounts,
  describeError: describeUnlessDeleted,
  refresh: refreshMembers,
};

/** What can be done with several invitations. New links that aren't emailed are shown once. */
export function invitationActions(
  workspaceId: string,
  sendsEmail: boolean,
): readonly BulkAction<Invitation>[] {
  const resend: BulkAction<Invitation> = {
    verb: "Resend",
    done: "sent again",
    consequence: sendsEmail
      ? "This emails new links, or shows them here for you to send if a person got ten emails with invitations in the last hour. They are valid for seven days. The old links stop working."
      : "This creates new links, which are shown here, once, for you to send. They are valid for seven days. The old links stop working.",
    isDangerous: false,
    issue: async ({ id }) => (await trpcClient.invitations.resend.mutate({ workspaceId, id })).url,
    issued: {
      nouns: ["link", "links"],
      explanation: sendsEmail
        ? "These links weren’t emailed, because a person gets at most ten emails with invitations per hour. Send them yourself. Each link works once, for an account with the email address. You can’t see it again."
        : "Send these links yourself. Each link works once, for an account with the email address. You can’t see it again.",
    },
  };
  const revoke: BulkAction<Invitation> = {
    verb: "Revoke",
    done: "revoked",
    consequence: "Their links stop working immediately. You can invite these people again.",
    isDangerous: true,
    run: ({ id }) => trpcClient.invitations.revoke.mutate({ workspaceId, id }),
  };
  return [resend, revoke];
}

export const bulkInvitations: Omit<BulkItems<Invitation>, "items"> = {
  nameOf: ({ email }) => email,
  nouns: ["invitation", "invitations"],
  describeError: describeUnlessDeleted,
  refresh: () => queryClient.invalidateQueries({ queryKey: trpc.invitations.list.pathKey() }),
};

function describeServiceAccounts(members: readonly Member[]): string {
  return members.some(({ kind }) => kind === "service_account")
    ? "Service accounts are deleted with all of their API keys. This can’t be undone."
    : "";
}
