import { Button } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { goToProvider } from "../../server/openid.ts";
import { trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import removalClasses from "../../ui/removal.module.css";
import { Section } from "../../ui/section.tsx";
import classes from "./factor.module.css";
import { Factor } from "./factor.tsx";

function showFailure(error: unknown): void {
  notifications.show({ color: "red", title: "Nothing was changed", message: describeFailure(error).message });
}

/** The identity at the OpenID provider with which the user can sign in. Absent if the instance has no provider. */
export function SignInMethodsSection(): ReactElement | null {
  const { data } = useQuery(trpc.account.signInMethods.queryOptions());
  const queryClient = useQueryClient();
  const start = useMutation(
    trpc.account.startOpenid.mutationOptions({
      onSuccess: ({ url }) => goToProvider(url, { use: "link", next: "/account/security" }),
      onError: showFailure,
    }),
  );
  const unlink = useMutation(
    trpc.account.unlinkOpenid.mutationOptions({
      onSuccess: async () => {
        await queryClient.invalidateQueries({ queryKey: trpc.account.signInMethods.queryKey() });
        await queryClient.invalidateQueries({ queryKey: trpc.securityLog.pathKey() });
        await queryClient.invalidateQueries({ queryKey: trpc.account.sessions.queryKey() });
        notifications.show({ message: "The identity was unlinked. Your other sessions have ended." });
      },
      onError: showFailure,
    }),
  );
  const openid = data?.openid;
  if (!openid) return null;
  const { name, identity } = openid;
  return (
    <Section title="Sign-in methods">
      <ul className={classes.factors}>
        <Factor
          name={name}
          action={
            identity ? (
              <Button
                className={removalClasses.action}
                variant="subtle"
                color="gray"
                aria-label={`Unlink ${name}`}
                loading={unlink.isPending}
                onClick={() => unlink.mutate()}
              >
                Unlink
              </Button>
            ) : (
              <BusyButton
                aria-label={`Link ${name}`}
                loading={start.isPending || start.isSuccess}
                onClick={() => start.mutate({ use: "link" })}
              >
                Link
              </BusyButton>
            )
          }
        >
          {identity ? (
            <>
              Linked <RelativeTime at={identity.linkedAt} />
              {identity.email && <> as {identity.email}</>}. You can sign in with it.
            </>
          ) : (
            "Link your identity to sign in with it."
          )}
        </Factor>
      </ul>
    </Section>
  );
}
