import { Button } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { describeRejection } from "../../server/describe-rejection.ts";
import { describeFailure } from "../../server/failure.ts";
import { hasIssueOf, showIssues } from "../../server/show-issues.ts";
import { type FactorKinds, type Session, trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { CodeField } from "../../ui/code-field.tsx";
import { checkCode } from "../../ui/field-rules.ts";
import { focusFirstError } from "../../ui/focus-first-error.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { PasskeySignIn } from "./passkey-sign-in.tsx";
import classes from "./session-frame.module.css";

interface SecondFactorFormProps {
  readonly factors: FactorKinds;
  readonly onSession: (session: Session) => Promise<void>;
  /** Returns to the password. */
  readonly onRestart: () => void;
}

/** Asks for the second factor after a correct password. */
export function SecondFactorForm({ factors, onSession, onRestart }: SecondFactorFormProps): ReactElement {
  const form = useForm({
    mode: "uncontrolled",
    initialValues: { code: "" },
    validate: { code: checkCode },
  });
  const enter = useMutation(
    trpc.session.enterCode.mutationOptions({
      meta: { isSignIn: true },
      onSuccess: onSession,
      onError: (error) => {
        showIssues(form, error);
        const field = form.getInputNode("code");
        if (field instanceof HTMLInputElement) field.select(); // The next code replaces the wrong one.
      },
    }),
  );
  const failure = enter.error ? describeFailure(enter.error) : undefined;
  return (
    <form
      className={classes.form}
      noValidate
      onSubmit={form.onSubmit(({ code }) => enter.mutate({ code }), focusFirstError(form.getInputNode))}
    >
      {failure && !hasIssueOf(form, failure) && (
        <FormFailure message={describeRejection(failure, enter.submittedAt)} requestId={failure.requestId} />
      )}
      <CodeField
        {...form.getInputProps("code")}
        key={form.key("code")}
        {...(!factors.hasTotp && {
          label: "Recovery code",
          description: "Use one if you lost your passkey.",
        })}
        autoFocus
      />
      <BusyButton type="submit" loading={enter.isPending}>
        Continue
      </BusyButton>
      {factors.hasPasskeys && <PasskeySignIn isSecondFactor onSession={onSession} />}
      <Button variant="subtle" color="gray" onClick={onRestart} disabled={enter.isPending}>
        Start over
      </Button>
      <p className={classes.other}>
        Lost your device and your recovery codes? Ask the operator of this instance to reset your second
        factors.
      </p>
    </form>
  );
}
