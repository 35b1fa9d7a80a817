import { useForm } from "@mantine/form";
import { useMutation, useQuery, useSuspenseQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { type ReactElement, useState } from "react";
import { describeRejection } from "../../server/describe-rejection.ts";
import { describeFailure } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import { type FactorKinds, trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { checkEmail, checkPassword } from "../../ui/field-rules.ts";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { SecretField } from "../../ui/secret-field.tsx";
import { EmailField } from "./email-field.tsx";
import { OpenidSignIn } from "./openid-sign-in.tsx";
import { PasskeySignIn } from "./passkey-sign-in.tsx";
import { SecondFactorForm } from "./second-factor-form.tsx";
import classes from "./session-frame.module.css";
import { SessionFrame } from "./session-frame.tsx";
import { useCompleteSignIn } from "./use-complete-sign-in.ts";

const route = getRouteApi("/sign-in");

export function SignInPage(): ReactElement {
  const { next, ended } = route.useSearch();
  const completeSignIn = useCompleteSignIn(next);
  const { data: instance } = useSuspenseQuery(trpc.instance.get.queryOptions());
  const { data: hasNoAccounts = false } = useQuery(trpc.instance.isFresh.queryOptions());
  const [factors, setFactors] = useState<FactorKinds>();
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { email: "", password: "" },
    validate: { email: checkEmail, password: checkPassword },
  });
  const signIn = useMutation(
    trpc.session.signIn.mutationOptions({
      meta: { isSignIn: true },
      onSuccess: (result) => {
        if (!("secondFactor" in result)) return completeSignIn(result);
        setFactors(result.secondFactor);
        signIn.reset(); // Discards the password, because the page stays.
      },
      onError: (error) => {
        if (describeFailure(error).code !== "UNAUTHORIZED") return void showIssues(form, error);
        form.setFieldError("password", "The email address or password is wrong. Check both and try again.");
        form.getInputNode("password")?.focus();
      },
    }),
  );
  if (factors) {
    return (
      <SessionFrame title="Confirm that it’s you" explanation="Use your second factor to finish signing in.">
        <SecondFactorForm
          factors={factors}
          onSession={completeSignIn}
          onRestart={() => setFactors(undefined)}
        />
      </SessionFrame>
    );
  }
  const failure = signIn.error ? describeFailure(signIn.error) : undefined;
  const isShownUnderFields = failure && (failure.code === "UNAUTHORIZED" || hasIssueOf(form, failure));
  return (
    <SessionFrame
      title="Sign in"
      explanation={
        ended ? "Your session has ended. Sign in to continue." : "Use your email address and password."
      }
    >
      <form
        className={classes.form}
        noValidate
        onSubmit={form.onSubmit(
          ({ email, password }) => signIn.mutate({ email: email.trim(), password }),
          focusFirstError(form.getInputNode),
        )}
      >
        {failure && !isShownUnderFields && (
          <FormFailure
            message={describeRejection(failure, signIn.submittedAt)}
            requestId={failure.requestId}
          />
        )}
        <EmailField {...form.getInputProps("email")} key={form.key("email")} autoFocus />
        <SecretField
          label="Password"
          required
          {...form.getInputProps("password")}
          key={form.key("password")}
          autoComplete="current-password"
        />
        <BusyButton type="submit" loading={signIn.isPending}>
          Sign in
        </BusyButton>
        <PasskeySignIn isSecondFactor={false} onSession={completeSignIn} />
        <OpenidSignIn next={next} />
      </form>
      <p className={classes.other}>
        {hasNoAccounts ? "This instance has no accounts yet." : "New here?"}{" "}
        <Link to="/sign-up" search={next ? { next } : {}}>
          {hasNoAccounts ? "Create the operator’s account" : "Create an account"}
        </Link>
      </p>
      {!hasNoAccounts && (
        <p className={classes.other}>
          {instance.sendsEmail ? (
            <Link to="/forgot-password">Forgot your password?</Link>
          ) : (
            "Forgot your password? Ask the operator of this instance for a password reset link."
          )}
        </p>
      )}
    </SessionFrame>
  );
}
