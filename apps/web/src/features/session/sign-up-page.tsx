import { TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { describeRejection } from "../../server/describe-rejection.ts";
import { describeFailure } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import { trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { collapseSpaces } from "../../ui/collapse-spaces.ts";
import { checkEmail, checkName, checkNewPassword, passwordHelp } from "../../ui/field-rules.ts";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { SecretField } from "../../ui/secret-field.tsx";
import { EmailField } from "./email-field.tsx";
import { OpenidSignIn } from "./openid-sign-in.tsx";

import classes from "./session-frame.module.css";
import { SessionFrame } from "./session-frame.tsx";
import { useCompleteSignIn } from "./use-complete-sign-in.ts";

const route = getRouteApi("/sign-up");

export function SignUpPage(): ReactElement {
  const { next } = route.useSearch();
  const { data: instance } = useSuspenseQuery(trpc.instance.get.queryOptions());
  const { data: hasNoAccounts = false } = useQuery(trpc.instance.isFresh.queryOptions());
  const signInLink = (
    <Link to="/sign-in" search={next ? { next } : {}}>
      Sign in
    </Link>
  );
  const isOpen = instance.registration === "open";
  if (!isOpen && !hasNoAccounts) {
    return (
      <SessionFrame
        title={instance.registration === "invite" ? "Sign-up is by invitation only" : "Sign-up is disabled"}
        explanation={
          instance.registration === "invite"
            ? "You need an invitation to sign up on this instance. Ask a member of the workspace who can invite people."
            : "Ask the operator of this instance for an account."
        }
      >
        <p className={classes.other}>Have an account? {signInLink}</p>
      </SessionFrame>
    );
  }
  return (
    <SessionFrame
      title={hasNoAccounts ? "Create the operator’s account" : "Create an account"}
      explanation={
        hasNoAccounts
          ? `This instance has no accounts yet. The first account becomes the operator, who manages the instance. Your account includes a workspace.${signUpsAfterwards[instance.registration]}`
          : "Your account includes a workspace of your own."
      }
    >
      <SignUpForm next={next} offersOpenid={isOpen} />
      {!hasNoAccounts && <p className={classes.other}>Have an account? {signInLink}</p>}
    </SessionFrame>
  );
}

/** Explains to the person who creates the operator's account who can sign up afterwards. */
const signUpsAfterwards = {
  open: "",
  invite: " Everyone else needs an invitation to sign up.",
  closed: " Nobody else can sign up afterwards.",
} as const;

interface SignUpFormProps {
  readonly next: string | undefined;
  /** False for the first account where registration isn't open: only a password creates it. */
  readonly offersOpenid: boolean;
}

function SignUpForm({ next, offersOpenid }: SignUpFormProps): ReactElement {
  const completeSignIn = useCompleteSignIn(next);
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { name: "", email: "", password: "" },
    validate: { name: checkName, email: checkEmail, password: checkNewPassword },
  });
  const signUp = useMutation(
    trpc.session.signUp.mutationOptions({
      meta: { isSignIn: true },
      onSuccess: completeSignIn,
      onError: (error) => {
        if (describeFailure(error).code !== "CONFLICT") return void showIssues(form, error);
        form.setFieldError(
          "email",
          "This email address already has an account. Sign in, or use another email address.",
        );
        form.getInputNode("email")?.focus();
      },
    }),
  );
  const failure = signUp.error ? describeFailure(signUp.error) : undefined;
  const isShownUnderFields = failure && (failure.code === "CONFLICT" || hasIssueOf(form, failure));
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit(
        ({ name, email, password }) =>
          signUp.mutate({ name: collapseSpaces(name), email: email.trim(), password }),
        focusFirstError(form.getInputNode),
      )}
    >
      {failure && !isShownUnderFields && (
        <FormFailure message={describeRejection(failure, signUp.submittedAt)} requestId={failure.requestId} />
      )}
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
      <EmailField {...form.getInputProps("email")} key={form.key("email")} />
      <SecretField
        label="Password"
        required
        {...form.getInputProps("password")}
        key={form.key("password")}
        description={passwordHelp}
        autoComplete="new-password"
      />
      <BusyButton type="submit" loading={signUp.isPending}>
        Create account
      </BusyButton>
      {offersOpenid && <OpenidSignIn next={next} />}
    </form>
  );
}
