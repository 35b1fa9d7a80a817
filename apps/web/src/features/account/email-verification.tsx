import { useMutation, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeRejection } from "../../server/describe-rejection.ts";
import { describeFailure } from "../../server/failure.ts";
import { trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { StatusBadge } from "../../ui/status-badge.tsx";
import classes from "./account-form.module.css";

/**
 * Whether the user's email address is verified and, if it isn't, a button that emails a verification link. An instance
 * without email can't verify it, and needs no verified email address.
 */
export function EmailVerification({ email }: { readonly email: string }): ReactElement {
  const { sendsEmail } = useSuspenseQuery(trpc.instance.get.queryOptions()).data;
  // A node of a previous version lacks this procedure, and the rest of the profile works without its result.
  const { data: status } = useQuery(trpc.account.emailStatus.queryOptions());
  const request = useMutation(trpc.account.requestEmailVerification.mutationOptions());
  const failure = request.error ? describeFailure(request.error) : undefined;
  return (
    <div className={classes.form}>
      <p className={classes.words}>
        You sign in with <strong>{email}</strong>.{" "}
        {status && (sendsEmail || status.isVerified) && (
          <StatusBadge
            tone={status.isVerified ? "neutral" : "attention"}
            label={status.isVerified ? "Verified" : "Unverified"}
          />
        )}
      </p>
      {sendsEmail && status && !status.isVerified && (
        <>
          <p className={classes.words}>
            Verify that you can read email sent to this email address. Until then, notices aren’t emailed to
            you, and a password reset by email deletes your API keys and second factors.
          </p>
          {failure && (
            <FormFailure
              message={describeRejection(failure, request.submittedAt)}
              requestId={failure.requestId}
            />
          )}
          {request.isSuccess && (
            <p className={classes.words} role="status">
              A link is on its way to <strong>{email}</strong>. It is valid for 24 hours.
            </p>
          )}
          <BusyButton
            className={classes.submit}
            variant="default"
            loading={request.isPending}
            onClick={() => request.mutate()}
          >
            Send verification email
          </BusyButton>
        </>
      )}
    </div>
  );
}
