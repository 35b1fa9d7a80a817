import { useMutation, useSuspenseQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeRejection } from "../../server/describe-rejection.ts";
import { describeFailure } from "../../server/failure.ts";
import { trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { FormFailure } from "../../ui/form-failure.tsx";
import { StatusBadge } from "../../ui/status-badge.tsx";
import classes from "./account-form.module.css";

/** Whether the user's email address is verified and, if it isn't, a button that emails a verification link. */
export function EmailVerification({ email }: { readonly email: string }): ReactElement {
  const { sendsEmail } = useSuspenseQuery(trpc.instance.get.queryOptions()).data;
  const { isVerified } = useSuspenseQuery(trpc.account.emailStatus.queryOptions()).data;
  const request = useMutation(trpc.account.requestEmailVerification.mutationOptions());
  const failure = request.error ? describeFailure(request.error) : undefined;
  return (
    <div className={classes.form}>
      <p className={classes.words}>
        You sign in with <strong>{email}</strong>.{" "}
        <StatusBadge tone={isVerified ? "ok" : "warning"} label={isVerified ? "Verified" : "Unverified"} />
      </p>
      {sendsEmail && !isVerified && (
        <>
          <p className={classes.words}>
            Notices aren’t emailed to you until you have verified that you can read email sent to this
            address.
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
