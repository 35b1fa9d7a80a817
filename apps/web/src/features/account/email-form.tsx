import { TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useSuspenseQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeRejection } from "../../server/describe-rejection.ts";
import { describeFailure } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import { trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { checkEmail } from "../../ui/field-rules.ts";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import classes from "./account-form.module.css";
import { EmailVerification } from "./email-verification.tsx";

/** Emails a link to the new email address. The account's email address changes when the user opens the link. */
export function EmailForm({ email }: { readonly email: string }): ReactElement {
  const { sendsEmail } = useSuspenseQuery(trpc.instance.get.queryOptions()).data;
  const form = useForm({
    // Named, because the page contains several forms.
    name: "email",
    mode: "uncontrolled",
    initialValues: { email: "" },
    validate: { email: checkEmail },
  });
  useUnsavedInput(form.isDirty);
  const request = useMutation(
    trpc.account.requestEmailChange.mutationOptions({
      onSuccess: () => form.reset(),
      onError: (error) => void showIssues(form, error),
    }),
  );
  if (!sendsEmail) {
    return (
      <div className={classes.form}>
        <EmailVerification email={email} />
        <p className={classes.words}>
          The operator of this instance can change it with <code>latchkey user email</code>.
        </p>
      </div>
    );
  }
  const failure = request.error ? describeFailure(request.error) : undefined;
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit(
        (values) => request.mutate({ email: values.email.trim() }),
        focusFirstError(form.getInputNode),
      )}
    >
      <EmailVerification email={email} />
      {failure && !hasIssueOf(form, failure) && (
        <FormFailure
          message={describeRejection(failure, request.submittedAt)}
          requestId={failure.requestId}
        />
      )}
      <TextInput
        {...form.getInputProps("email")}
        key={form.key("email")}
        label="New email address"
        description="We’ll send a link there. Your email address changes when you open the link."
        type="email"
        autoComplete="email"
        required
        withAsterisk={false}
      />
      {request.isSuccess && (
        <p className={classes.words} role="status">
          A link is on its way to <strong>{request.variables.email}</strong>, unless this email address
          already has an account. It is valid for an hour.
        </p>
      )}
      <BusyButton className={classes.submit} type="submit" loading={request.isPending}>
        Email me a link
      </BusyButton>
    </form>
  );
}
