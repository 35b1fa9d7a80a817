import { Skeleton } from "@mantine/core";
import { useForm } from "@mantine/form";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeRejection } from "../../server/describe-rejection.ts";
import { describeFailure, isResponseLost } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import { trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { checkNewPassword, checkPassword, passwordHelp } from "../../ui/field-rules.ts";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { SecretField } from "../../ui/secret-field.tsx";
import { useUnsavedInput } from "../../ui/unsaved-input.ts";
import classes from "./account-form.module.css";

/** Changes the user's password, or sets the first one of a user who signs in with an OpenID provider. */
export function PasswordSection({ email }: { readonly email: string }): ReactElement {
  const methods = useQuery(trpc.account.signInMethods.queryOptions());
  if (methods.isPending) return <Skeleton h={180} />;
  const hasPassword = methods.data?.hasPassword ?? true;
  return <PasswordForm key={String(hasPassword)} email={email} hasPassword={hasPassword} />;
}

interface PasswordFormProps {
  readonly email: string;
  readonly hasPassword: boolean;
}

/** Saving ends all other sessions. */
function PasswordForm({ email, hasPassword }: PasswordFormProps): ReactElement {
  const queryClient = useQueryClient();
  const form = useForm({
    // Named, because the page contains two forms.
    name: "password",
    mode: "uncontrolled",
    initialValues: { currentPassword: "", newPassword: "" },
    validate: {
      currentPassword: (password) => (hasPassword ? checkPassword(password) : null),
      newPassword: checkNewPassword,
    },
  });
  useUnsavedInput(form.isDirty);
  /** If the response was lost, another form may have to replace this one, and its message. */
  const showStoredPassword = async () => {
    await queryClient.invalidateQueries({ queryKey: trpc.account.pathKey() });
    const methods = queryClient.getQueryData(trpc.account.signInMethods.queryKey());
    if (hasPassword || !methods?.hasPassword) return;
    notifications.show({ message: "Your password was set. Your other sessions have ended." });
    document.getElementById("content")?.focus();
  };
  const handlers = {
    onSuccess: async () => {
      form.reset();
      // Discards the passwords, because the page stays.
      change.reset();
      set.reset();
      const outcome = hasPassword ? "changed" : "set";
      notifications.show({ message: `Your password was ${outcome}. Your other sessions have ended.` });
      await queryClient.invalidateQueries({ queryKey: trpc.account.pathKey() });
      // The form that set the first password was replaced by one that asks for the current password.
      if (!hasPassword) document.getElementById("content")?.focus();
    },
    onError: (error: unknown) => {
      showIssues(form, error);
      if (isResponseLost(error)) void showStoredPassword();
    },
  };
  const change = useMutation(trpc.account.changePassword.mutationOptions(handlers));
  const set = useMutation(trpc.account.setPassword.mutationOptions(handlers));
  const { error, submittedAt, isPending } = hasPassword ? change : set;
  const failure = error ? describeFailure(error) : undefined;
  const save = ({ currentPassword, newPassword }: typeof form.values) =>
    hasPassword ? change.mutate({ currentPassword, newPassword }) : set.mutate({ newPassword });
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit(save, focusFirstError(form.getInputNode))}
    >
      {failure && !hasIssueOf(form, failure) && (
        <FormFailure
          message={
            failure.code === "NO_ANSWER"
              ? describeLostResponse(hasPassword)
              : describeRejection(failure, submittedAt)
          }
          requestId={failure.requestId}
        />
      )}
      {/* Tells password managers which account the new password is for. */}
      <input type="text" autoComplete="username" value={email} readOnly hidden />
      {hasPassword && (
        <SecretField
          {...form.getInputProps("currentPassword")}
          key={form.key("currentPassword")}
          label="Current password"
          autoComplete="current-password"
          required
        />
      )}
      <SecretField
        {...form.getInputProps("newPassword")}
        key={form.key("newPassword")}
        label="New password"
        description={
          hasPassword
            ? `${passwordHelp} Your other sessions end.`
            : `You have no password yet. ${passwordHelp}`
        }
        autoComplete="new-password"
        required
      />
      <BusyButton className={classes.submit} type="submit" loading={isPending}>
        {hasPassword ? "Change password" : "Set password"}
      </BusyButton>
    </form>
  );
}

function describeLostResponse(hasPassword: boolean): string {
  return hasPassword
    ? "The server didn’t respond. Your password may have been changed. If it was, your other sessions have ended, and your current password is the new one."
    : "The server didn’t respond. Your password may have been set. If it was, your other sessions have ended.";
}
