import { Button } from "@mantine/core";
import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { Link, useLocation } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { describeFailure } from "../../server/failure.ts";
import { trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { LinkFailure } from "./link-failure.tsx";
import classes from "./session-frame.module.css";
import { SessionFrame } from "./session-frame.tsx";
import { SignInRequired } from "./sign-in-required.tsx";
import { useEndedSession } from "./use-ended-session.ts";

/** Verifies the email address of the signed-in user, with the link that was sent to it. */
export function VerifyEmailPage(): ReactElement {
  const token = useLocation({ select: ({ hash }) => hash });
  const { data: session } = useSuspenseQuery(
    trpc.session.current.queryOptions(undefined, { staleTime: Infinity }),
  );
  useEndedSession();
  const queryClient = useQueryClient();
  const verify = useMutation(
    trpc.account.verifyEmail.mutationOptions({
      onSuccess: () => queryClient.invalidateQueries({ queryKey: trpc.account.emailStatus.queryKey() }),
    }),
  );
  const profileLink = <Link to="/account/profile">Go to your profile</Link>;
  if (token === "")
    return (
      <LinkFailure
        title="This link can’t be used"
        error={undefined}
        isRetrying={false}
        onRetry={() => undefined}
      >
        {profileLink}
      </LinkFailure>
    );
  if (!session) return <SignInRequired purpose="verify your email address" />;
  if (verify.data) {
    return (
      <SessionFrame
        title="Your email address is verified"
        explanation={
          <>
            Notices are now emailed to <strong>{verify.data.email}</strong>.
          </>
        }
      >
        <Button fullWidth renderRoot={(props) => <Link {...props} to="/account/profile" />}>
          Go to your profile
        </Button>
      </SessionFrame>
    );
  }
  const rejection = verify.error ? describeFailure(verify.error) : undefined;
  return (
    <SessionFrame
      title="Verify your email address"
      explanation={
        <>
          You are signed in with <strong>{session.user.email}</strong>.
        </>
      }
    >
      <div className={classes.form}>
        {rejection && <FormFailure message={rejection.message} requestId={rejection.requestId} />}
        <BusyButton loading={verify.isPending} onClick={() => verify.mutate({ token })}>
          Verify email address
        </BusyButton>
        <p className={classes.other}>{profileLink}</p>
      </div>
    </SessionFrame>
  );
}
