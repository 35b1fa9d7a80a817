import { Skeleton } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeRejection } from "../../server/describe-rejection.ts";
import { describeFailure } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import { trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { checkNewPassword, passwordHelp } from "../../ui/field-rules.ts";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { SecretField } from "../../ui/secret-field.tsx";
import classes from "./account-form.module.css";
import { PasswordForm } from "./password-form.tsx";

/** Changes the user's password, or sets the first one of a user who signs in with an OpenID provider. */
export function PasswordSection({ email }: { readonly email: string }): ReactElement {
  const methods = useQuery(trpc.account.signInMethods.queryOptions());
  if (methods.isPending) return <Skeleton h={180} />;
  return methods.data?.hasPassword === false ? (
    <FirstPassword email={email} />
  ) : (
    <PasswordForm email={email} />
  );
}

function FirstPassword({ email }: { readonly email: string }): ReactElement {
  const queryClient = useQueryClient();
  const form = useForm({
    name: "password",
    mode: "uncontrolled",
    initialValues: { newPassword: "" },
    validate: { newPassword: checkNewPassword },
  });
  const set = useMutation(
    trpc.account.setPassword.mutationOptions({
      onSuccess: () => {
        notifications.show({ message: "Your password was set. Your other sessions have ended." });
        void queryClient.invalidateQueries({ queryKey: trpc.account.pathKey() });
      },
      onError: (error) => showIssues(form, error),
    }),
  );
  const failure = set.error ? describeFailure(set.error) : undefined;
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit((values) => set.mutate(values), focusFirstError(form.getInputNode))}
    >
      {failure && !hasIssueOf(form, failure) && (
        <FormFailure message={describeRejection(failure, set.submittedAt)} requestId={failure.requestId} />
      )}
      {/* Tells password managers which account the new password is for. */}
      <input type="text" autoComplete="username" value={email} readOnly hidden />
      <SecretField
        {...form.getInputProps("newPassword")}
        key={form.key("newPassword")}
        label="New password"
        description={`You have no password yet. ${passwordHelp}`}
        autoComplete="new-password"
        required
      />
      <BusyButton className={classes.submit} type="submit" loading={set.isPending}>
        Set password
      </BusyButton>
    </form>
  );
}
