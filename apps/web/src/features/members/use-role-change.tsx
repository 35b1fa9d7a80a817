import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { describeFailure, type Failure } from "../../server/failure.ts";
import { withArticle } from "../../server/roles.ts";
import { type Member, type Role, trpc, trpcClient } from "../../server/trpc.ts";
import { Quoted } from "../../ui/quoted.tsx";

/** Gives a member another role. What is shown afterwards is what the API has confirmed. */
export function useRoleChange(workspaceId: string, member: Member, onChanged?: () => void) {
  const { userId, version, name } = member;
  const queryClient = useQueryClient();
  /** Also what the person may do, because the role may be their own, or a refusal may mean that it has changed. */
  const refresh = () =>
    Promise.all([
      queryClient.invalidateQueries({ queryKey: trpc.members.list.pathKey() }),
      queryClient.invalidateQueries({ queryKey: trpc.workspaces.get.queryKey({ workspaceId }) }),
    ]);
  return useMutation({
    mutationKey: trpc.members.changeRole.mutationKey(),
    mutationFn: (role: Role) => trpcClient.members.changeRole.mutate({ workspaceId, userId, role, version }),
    onSuccess: async ({ role }) => {
      await refresh();
      onChanged?.();
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

/** The words for a role that was not changed. */
export function describeRefusedChange(error: unknown): Failure {
  const failure = describeFailure(error);
  return { ...failure, message: words[failure.code] ?? failure.message };
}

const words: Partial<Record<Failure["code"], string>> = {
  PRECONDITION_FAILED:
    "Someone else changed this role at the same time. The current role is shown; select another if it is wrong.",
  FORBIDDEN: "Your role no longer allows this. Nothing was changed.",
  NOT_FOUND: "This person is no longer a member. Nothing was changed.",
};
