import { useForm } from "@mantine/form";
import { useMutation, useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { describeRejection } from "../../server/describe-rejection.ts";
import { describeFailure } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import { trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { checkEmail } from "../../ui/field-rules.ts";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { EmailField } from "./email-field.tsx";
import classes from "./session-frame.module.css";
import { SessionFrame } from "./session-frame.tsx";

/** Emails a password reset link. */
export function ForgotPasswordPage(): ReactElement {
  const { data: instance } = useSuspenseQuery(trpc.instance.get.queryOptions());
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { email: "" },
    validate: { email: checkEmail },
  });
  const request = useMutation(
    trpc.session.requestResetLink.mutationOptions({ onError: (error) => void showIssues(form, error) }),
  );
  const signInLink = (
    <p className={classes.other}>
      <Link to="/sign-in">Go to sign-in</Link>
    </p>
  );
  if (!instance.sendsEmail) {
    return (
      <SessionFrame
        title="Forgot your password?"
        explanation="Ask the operator of this instance for a password reset link."
      >
        {signInLink}
      </SessionFrame>
    );
  }
  if (request.isSuccess) {
    return (
      <SessionFrame
        title="Check your email"
        explanation={
          <>
            If <strong>{request.variables.email}</strong> has an account, a password reset link is on its way.
            It is valid for an hour.
          </>
        }
      >
        {signInLink}
      </SessionFrame>
    );
  }
  const failure = request.error ? describeFailure(request.error) : undefined;
  return (
    <SessionFrame
      title="Forgot your password?"
      explanation="Enter the email address of your account to get a password reset link."
    >
      <form
        className={classes.form}
        noValidate
        onSubmit={form.onSubmit(
          ({ email }) => request.mutate({ email: email.trim() }),
          focusFirstError(form.getInputNode),
        )}
      >
        {failure && !hasIssueOf(form, failure) && (
          <FormFailure
            message={describeRejection(failure, request.submittedAt)}
            requestId={failure.requestId}
          />
        )}
        <EmailField {...form.getInputProps("email")} key={form.key("email")} autoFocus />
        <BusyButton type="submit" loading={request.isPending}>
          Email me a link
        </BusyButton>
      </form>
      {signInLink}
    </SessionFrame>
  );
}
