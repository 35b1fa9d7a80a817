import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeRejection } from "../../server/describe-rejection.ts";
import { describeFailure } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import { trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { checkNewPassword, checkPassword, passwordHelp } from "../../ui/field-rules.ts";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { SecretField } from "../../ui/secret-field.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import classes from "./account-form.module.css";

/** Changes the user's password, which ends all other sessions. */
export function PasswordForm({ email }: { readonly email: string }): ReactElement {
  const queryClient = useQueryClient();
  const form = useForm({
    // Named, because the page contains two forms.
    name: "password",
    mode: "uncontrolled",
    initialValues: { currentPassword: "", newPassword: "" },
    validate: { currentPassword: checkPassword, newPassword: checkNewPassword },
  });
  useUnsavedInput(form.isDirty);
  const change = useMutation(
    trpc.account.changePassword.mutationOptions({
      onSuccess: () => {
        form.reset();
        void queryClient.invalidateQueries({ queryKey: trpc.account.sessions.queryKey() });
        notifications.show({ message: "Your password was changed. Your other sessions have ended." });
      },
      onError: (error) => showIssues(form, error),
    }),
  );
  const failure = change.error ? describeFailure(change.error) : undefined;
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit((passwords) => change.mutate(passwords), focusFirstError(form.getInputNode))}
    >
      {failure && !hasIssueOf(form, failure) && (
        <FormFailure message={describeRejection(failure, change.submittedAt)} requestId={failure.requestId} />
      )}
      {/* Tells password managers which account the new password is for. */}
      <input type="text" autoComplete="username" value={email} readOnly hidden />
      <SecretField
        {...form.getInputProps("currentPassword")}
        key={form.key("currentPassword")}
        label="Current password"
        autoComplete="current-password"
        required
      />
      <SecretField
        {...form.getInputProps("newPassword")}
        key={form.key("newPassword")}
        label="New password"
        description={`${passwordHelp} Your other sessions end.`}
        autoComplete="new-password"
        required
      />
      <BusyButton className={classes.submit} type="submit" loading={change.isPending}>
        Change password
      </BusyButton>
    </form>
  );
}
