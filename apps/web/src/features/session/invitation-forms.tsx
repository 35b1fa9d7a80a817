import { Button, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { describeRejection } from "../../server/describe-rejection.ts";
import { describeFailure } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import { type FactorKinds, type Session, trpc, trpcClient } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { collapseSpaces } from "../../ui/collapse-spaces.ts";
import { checkName, checkNewPassword, checkPassword, passwordHelp } from "../../ui/field-rules.ts";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { SecretField } from "../../ui/secret-field.tsx";
import { EmailField } from "./email-field.tsx";
import { OpenidSignIn } from "./openid-sign-in.tsx";
import { SecondFactorForm } from "./second-factor-form.tsx";
import classes from "./session-frame.module.css";

interface FormProps {
  readonly token: string;
  readonly email: string;
}

/** Lets a person sign up or sign in. The link doesn't reveal whether the email address has an account. */
export function EitherForm({
  token,
  email,
  onSession,
}: FormProps & { readonly onSession: (session: Session) => void }): ReactElement {
  const { data: instance } = useSuspenseQuery(trpc.instance.get.queryOptions());
  const isClosed = instance.registration === "closed";
  const [isSigningUp, setSigningUp] = useState(!isClosed);
  return (
    <>
      {isSigningUp ? (
        <SignUpForm token={token} email={email} />
      ) : (
        <SignInForm token={token} email={email} onSession={onSession} />
      )}
      {isClosed ? (
        <p className={classes.other}>
          Sign-up is disabled on this instance. If you don’t have an account, ask its operator for one.
        </p>
      ) : (
        <div className={classes.other}>
          <Button variant="subtle" onClick={() => setSigningUp(!isSigningUp)}>
            {isSigningUp ? "Sign in with an existing account" : "Create an account"}
          </Button>
        </div>
      )}
    </>
  );
}

export function SignInForm({
  token,
  email,
  hasAccount = false,
  onSession,
}: FormProps & {
  /** Whether the email address is known to have an account. */
  readonly hasAccount?: boolean;
  readonly onSession: (session: Session) => void;
}): ReactElement {
  const queryClient = useQueryClient();
  const openWorkspace = useOpenWorkspace();
  const [factors, setFactors] = useState<FactorKinds>();
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { password: "" },
    validate: { password: checkPassword },
  });
  const join = async (session: Session) => {
    const joined = await trpcClient.invitations.accept.mutate({ token }).catch(() => undefined);
    if (joined) {
      const workspaces = [...session.workspaces, joined];
      return await openWorkspace({ ...session, workspaces }, joined.slug);
    }
    // The page now offers to join, which fails with the reason.
    queryClient.setQueryData(trpc.session.current.queryKey(), session);
    onSession(session);
  };
  const signIn = useMutation(
    trpc.session.signIn.mutationOptions({
      meta: { isSignIn: true },
      onSuccess: (result) => {
        if (!("secondFactor" in result)) return join(result);
        setFactors(result.secondFactor);
        signIn.reset(); // Discards the password, because the form stays.
      },
      onError: (error) => {
        if (describeFailure(error).code !== "UNAUTHORIZED") return void showIssues(form, error);
        form.setFieldError(
          "password",
          hasAccount
            ? "The password is wrong. Check it and try again."
            : "The password is wrong, or this email address has no account.",
        );
        form.getInputNode("password")?.focus();
      },
    }),
  );
  if (factors) {
    return <SecondFactorForm factors={factors} onSession={join} onRestart={() => setFactors(undefined)} />;
  }
  const failure = signIn.error ? describeFailure(signIn.error) : undefined;
  const isShownUnderFields = failure && (failure.code === "UNAUTHORIZED" || hasIssueOf(form, failure));
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit(
        ({ password }) => signIn.mutate({ email, password }),
        focusFirstError(form.getInputNode),
      )}
    >
      {failure && !isShownUnderFields && (
        <FormFailure message={describeRejection(failure, signIn.submittedAt)} requestId={failure.requestId} />
      )}
      <EmailField value={email} readOnly />
      <SecretField
        label="Password"
        {...(hasAccount && { description: "You have an account with this email address." })}
        required
        {...form.getInputProps("password")}
        key={form.key("password")}
        autoComplete="current-password"
        autoFocus
      />
      <BusyButton type="submit" loading={signIn.isPending}>
        Sign in and join
      </BusyButton>
      <OpenidSignIn next={`/invitation#${token}`} invitation={token} />
    </form>
  );
}

export function SignUpForm({ token, email }: FormProps): ReactElement {
  const { data: instance } = useSuspenseQuery(trpc.instance.get.queryOptions());
  const openWorkspace = useOpenWorkspace();
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { name: "", password: "" },
    validate: { name: checkName, password: checkNewPassword },
  });
  const signUp = useMutation(
    trpc.session.signUpInvited.mutationOptions({
      meta: { isSignIn: true },
      onSuccess: (session) => openWorkspace(session, session.workspaces[0]?.slug ?? ""),
      onError: (error) => void showIssues(form, error),
    }),
  );
  if (instance.registration === "closed") {
    return (
      <p>
        There is no account for <strong>{email}</strong>, and sign-up is disabled on this instance. Ask its
        operator for an account, then open this link again.
      </p>
    );
  }
  const failure = signUp.error ? describeFailure(signUp.error) : undefined;
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit(
        ({ name, password }) => signUp.mutate({ token, name: collapseSpaces(name), password }),
        focusFirstError(form.getInputNode),
      )}
    >
      {failure && !hasIssueOf(form, failure) && (
        <FormFailure message={describeRejection(failure, signUp.submittedAt)} requestId={failure.requestId} />
      )}
      <EmailField value={email} readOnly />
      <TextInput
        {...form.getInputProps("name")}
        key={form.key("name")}
        label="Name"
        dir="auto"
        autoComplete="name"
        autoFocus
        required
        withAsterisk={false}
      />
      <SecretField
        label="Password"
        required
        {...form.getInputProps("password")}
        key={form.key("password")}
        description={passwordHelp}
        autoComplete="new-password"
      />
      <BusyButton type="submit" loading={signUp.isPending}>
        Create account and join
      </BusyButton>
      <OpenidSignIn next={`/invitation#${token}`} invitation={token} />
    </form>
  );
}

/** Opens a workspace that a user has just joined. Going back doesn't lead to the link, which was used. */
export function useOpenWorkspace(): (session: Session, slug: string) => Promise<void> {
  const router = useRouter();
  const queryClient = useQueryClient();
  return async (session, slug) => {
    queryClient.setQueryData(trpc.session.current.queryKey(), session);
    await router.navigate({ to: "/w/$slug", params: { slug }, replace: true });
  };
}
