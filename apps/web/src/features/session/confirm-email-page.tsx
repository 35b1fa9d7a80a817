import { Button, Skeleton } from "@mantine/core";
import { useMutation, useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { Link, useLocation } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { trpc, trpcClient } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { LinkFailure } from "./link-failure.tsx";
import classes from "./session-frame.module.css";
import { SessionFrame } from "./session-frame.tsx";
import { SignInRequired } from "./sign-in-required.tsx";
import { useEndedSession } from "./use-ended-session.ts";

/** Changes the email address of the user who requested the link. */
export function ConfirmEmailPage(): ReactElement {
  const token = useLocation({ select: ({ hash }) => hash });
  const { data: session } = useSuspenseQuery(
    trpc.session.current.queryOptions(undefined, { staleTime: Infinity }),
  );
  useEndedSession();
  const queryClient = useQueryClient();
  const change = useQuery({
    queryKey: ["email-change", token],
    queryFn: () => trpcClient.session.emailChange.mutate({ token }),
    enabled: token !== "" && Boolean(session),
    retry: false,
    staleTime: Infinity,
  });
  const confirm = useMutation(
    trpc.session.confirmEmailChange.mutationOptions({
      onSuccess: () => queryClient.invalidateQueries({ queryKey: trpc.session.current.queryKey() }),
    }),
  );
  if (confirm.data) {
    return (
      <SessionFrame
        title="Your email address was changed"
        explanation={
          <>
            Sign in with <strong>{confirm.data.email}</strong> next time.
          </>
        }
      >
        <Button fullWidth renderRoot={(props) => <Link {...props} to="/account/profile" />}>
          Go to your profile
        </Button>
      </SessionFrame>
    );
  }
  if (token !== "" && !session) return <SignInRequired purpose="change your email address" />;
  if (token === "" || change.error) {
    return (
      <LinkFailure
        title="This link can’t be used"
        error={change.error}
        isRetrying={change.isFetching}
        onRetry={() => void change.refetch()}
      >
        <Link to="/account/profile">Go to your profile</Link>
      </LinkFailure>
    );
  }
  const rejection = confirm.error ? describeFailure(confirm.error) : undefined;
  return (
    <SessionFrame
      title="Confirm your email address"
      explanation={
        change.data ? (
          <>
            You will sign in with <strong>{change.data.email}</strong>. We’ll notify your old email address.
          </>
        ) : (
          <Skeleton h={12} w={240} component="span" />
        )
      }
    >
      <div className={classes.form}>
        {rejection && <FormFailure message={rejection.message} requestId={rejection.requestId} />}
        <BusyButton
          loading={confirm.isPending}
          disabled={!change.data}
          onClick={() => confirm.mutate({ token })}
        >
          Change email address
        </BusyButton>
      </div>
    </SessionFrame>
  );
}
