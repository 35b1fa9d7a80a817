import { Button, Skeleton } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useLocation } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import { trpc, trpcClient } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { checkNewPassword, passwordHelp } from "../../ui/field-rules.ts";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { SecretField } from "../../ui/secret-field.tsx";
import { LinkFailure } from "./link-failure.tsx";
import classes from "./session-frame.module.css";
import { SessionFrame } from "./session-frame.tsx";

/** Lets the user of a link choose a new password. */
export function ResetPasswordPage(): ReactElement {
  const token = useLocation({ select: ({ hash }) => hash });
  const account = useQuery({
    queryKey: ["reset-account", token],
    queryFn: () => trpcClient.session.resetAccount.mutate({ token }),
    enabled: token !== "",
    retry: false,
    staleTime: Infinity,
  });
  const [isChanged, setIsChanged] = useState(false);
  const reset = useMutation(
    trpc.session.resetPassword.mutationOptions({
      onSuccess: () => {
        setIsChanged(true);
        reset.reset(); // Discards the password, because the page stays.
      },
    }),
  );
  const signInLink = (
    <p className={classes.other}>
      <Link to="/sign-in">Go to sign-in</Link>
    </p>
  );
  if (isChanged) {
    return (
      <SessionFrame
        title="Your password was changed"
        explanation="All your sessions have ended. Sign in with the new password."
      >
        <Button fullWidth renderRoot={(props) => <Link {...props} to="/sign-in" />}>
          Sign in
        </Button>
      </SessionFrame>
    );
  }
  if (token === "" || (account.error && !account.data)) {
    return (
      <LinkFailure
        title="This link can’t be used"
        error={account.error}
        isRetrying={account.isFetching}
        onRetry={() => void account.refetch()}
      >
        <Link to="/sign-in">Go to sign-in</Link>
      </LinkFailure>
    );
  }
  return (
    <SessionFrame
      title="Choose a new password"
      explanation={
        account.data ? (
          <>
            For the account <strong>{account.data.email}</strong>. This ends all of its sessions.
          </>
        ) : (
          <Skeleton h={12} w={240} component="span" />
        )
      }
    >
      {account.data?.removesAccess && (
        <p className={classes.other}>
          The email address of this account has not been verified, so somebody else may have created it. A new
          password also deletes its API keys, second factors and linked sign-in methods, and verifies the
          email address. Afterwards, check the members, service accounts, webhooks and invitations of the
          account’s workspaces.
        </p>
      )}
      <NewPasswordForm
        email={account.data?.email ?? ""}
        isBusy={reset.isPending}
        error={reset.error}
        onSubmit={(newPassword, onError) => reset.mutate({ token, newPassword }, { onError })}
      />
      {signInLink}
    </SessionFrame>
  );
}

interface NewPasswordFormProps {
  readonly email: string;
  readonly isBusy: boolean;
  readonly error: unknown;
  readonly onSubmit: (newPassword: string, onError: (error: unknown) => void) => void;
}

function NewPasswordForm({ email, isBusy, error, onSubmit }: NewPasswordFormProps): ReactElement {
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { newPassword: "" },
    validate: { newPassword: checkNewPassword },
  });
  const failure = error ? describeFailure(error) : undefined;
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit(
        ({ newPassword }) => onSubmit(newPassword, (rejection) => showIssues(form, rejection)),
        focusFirstError(form.getInputNode),
      )}
    >
      {failure && !hasIssueOf(form, failure) && (
        <FormFailure message={failure.message} requestId={failure.requestId} />
      )}
      {/* Tells password managers which account the new password is for. */}
      <input type="text" autoComplete="username" value={email} readOnly hidden />
      <SecretField
        {...form.getInputProps("newPassword")}
        key={form.key("newPassword")}
        label="New password"
        description={passwordHelp}
        autoComplete="new-password"
        autoFocus
        required
      />
      <BusyButton type="submit" loading={isBusy}>
        Change password
      </BusyButton>
    </form>
  );
}
