import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { describeFailure, type Failure } from "../../server/failure.ts";
import { withArticle } from "../../server/roles.ts";
import { type Member, type Role, trpc, trpcClient } from "../../server/trpc.ts";
import { Quoted } from "../../ui/quoted.tsx";
import { refreshMembers } from "./refresh-members.ts";

interface RoleChangeOptions {
  /** Called when the API has confirmed the change. */
  readonly onSuccess: () => void;
  /** Called after that, when the page shows the new role. */
  readonly onRefreshed: () => void;
}

/** Changes the role of a member. The page shows the new role only after the API confirms it. */
export function useRoleChange(
  workspaceId: string,
  member: Member,
  { onSuccess, onRefreshed }: RoleChangeOptions,
) {
  const { userId, version, name } = member;
  const queryClient = useQueryClient();
  /**
   * Also refetches the user's permissions: the changed role can be their own, and a rejection can mean
   * that their role changed.
   */
  const refresh = () =>
    Promise.all([
      refreshMembers(),
      queryClient.invalidateQueries({ queryKey: trpc.workspaces.get.queryKey({ workspaceId }) }),
    ]);
  return useMutation({
    mutationKey: trpc.members.changeRole.mutationKey(),
    mutationFn: (role: Role) => trpcClient.members.changeRole.mutate({ workspaceId, userId, role, version }),
    onSuccess: async ({ role }) => {
      onSuccess();
      await refresh();
      onRefreshed();
      notifications.show({
        message: (
          <>
            <Quoted>{name}</Quoted> is now {withArticle(role)}.
          </>
        ),
      });
    },
    onError: refresh,
  });
}

/** Returns a failure with a message that fits a role change. */
export function describeRejectedChange(error: unknown): Failure {
  const failure = describeFailure(error);
  return { ...failure, message: messages[failure.code] ?? failure.message };
}

const messages: Partial<Record<Failure["code"], string>> = {
  PRECONDITION_FAILED:
    "Someone else changed this role at the same time. The current role is shown; select another if it is wrong.",
  FORBIDDEN: "Your role no longer allows this. Nothing was changed.",
  NOT_FOUND: "This person is no longer a member. Nothing was changed.",
};
