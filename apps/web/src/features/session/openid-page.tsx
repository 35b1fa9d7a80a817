import { Skeleton } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useMutation } from "@tanstack/react-query";
import { getRouteApi, Link, useRouter } from "@tanstack/react-router";
import { type ReactElement, useEffect, useRef, useState } from "react";
import { describeRejection } from "../../server/describe-rejection.ts";
import { describeFailure, type Failure } from "../../server/failure.ts";
import { findAttempt, type OpenidAttempt } from "../../server/openid.ts";
import { type FactorKinds, trpcClient } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { CodeField } from "../../ui/code-field.tsx";
import { checkCode } from "../../ui/field-rules.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import { findSameOriginPath } from "./same-origin-path.ts";
import { SecondFactorForm } from "./second-factor-form.tsx";
import classes from "./session-frame.module.css";
import { SessionFrame } from "./session-frame.tsx";
import { useCompleteSignIn } from "./use-complete-sign-in.ts";

const route = getRouteApi("/sign-in/openid");

const failureTitles = {
  "sign-in": "Couldn’t sign you in",
  link: "Couldn’t link the identity",
  confirmation: "Couldn’t confirm that it’s you",
} as const satisfies Record<OpenidAttempt["use"], string>;

const pendingTitles = {
  "sign-in": "Signing in",
  link: "Linking the identity",
  confirmation: "Confirming that it’s you",
} as const satisfies Record<OpenidAttempt["use"], string>;

const cancellationTitles = {
  "sign-in": "The sign-in was canceled",
  link: "The identity wasn’t linked",
  confirmation: "The confirmation was canceled",
} as const satisfies Record<OpenidAttempt["use"], string>;

const defaultAttempt: OpenidAttempt = { use: "sign-in", next: "/" };

/** The page to which the OpenID provider redirects. */
export function OpenidPage(): ReactElement {
  const { code, state, iss } = route.useSearch();
  // Without a code, the provider didn't sign the user in.
  const [response] = useState(() => (code && state ? { code, state, ...(iss && { iss }) } : undefined));
  const [attempt] = useState(() => findAttempt() ?? defaultAttempt);
  const next = findSameOriginPath(attempt.next, window.location.origin) ?? "/";
  const signInSearch = next === "/" ? {} : { next };
  const router = useRouter();
  const [factors, setFactors] = useState<FactorKinds>();
  const [isCodeNeeded, setCodeNeeded] = useState(false);
  const completeSignIn = useCompleteSignIn(next);
  const completeSignUp = useCompleteSignIn("/");
  const complete = useMutation({
    mutationKey: ["openid"],
    meta: { isSignIn: true },
    mutationFn: async (factorCode: string | undefined) => {
      if (!response) return;
      if (attempt.use === "sign-in") {
        const { invitation } = attempt;
        const result = await trpcClient.session.signInWithOpenid.mutate({
          ...response,
          ...(invitation && { invitation }),
        });
        if ("secondFactor" in result) setFactors(result.secondFactor);
        // A new user has accepted the invitation to which `next` leads.
        else if (result.isNewAccount && invitation) await completeSignUp(result.session);
        else await completeSignIn(result.session);
        return;
      }
      if (attempt.use === "link") await trpcClient.account.linkOpenid.mutate(response);
      else await trpcClient.account.confirmOpenid.mutate({ ...response, ...(factorCode && { factorCode }) });
      await router.navigate({ href: next, replace: true });
    },
    onError: (error) => {
      if (describeFailure(error).issues.some(({ path }) => path === "code")) setCodeNeeded(true);
    },
  });
  const { mutate } = complete;
  const isStarted = useRef(false);
  useEffect(() => {
    // The response is valid once, and React calls effects twice in development.
    if (isStarted.current || !response) return;
    isStarted.current = true;
    mutate(undefined);
  }, [mutate, response]);

  if (factors) {
    return (
      <SessionFrame title="Confirm that it’s you" explanation="Use your second factor to finish signing in.">
        <SecondFactorForm
          factors={factors}
          onSession={completeSignIn}
          onRestart={() => void router.navigate({ to: "/sign-in", search: signInSearch })}
        />
      </SessionFrame>
    );
  }
  const failure = complete.error ? describeFailure(complete.error) : undefined;
  if (isCodeNeeded && complete.variables === undefined) {
    return (
      <SessionFrame title="Confirm that it’s you" explanation="Your account has a second factor.">
        <FactorCode onCode={mutate} />
      </SessionFrame>
    );
  }
  if (response && !failure) {
    return (
      <SessionFrame title={pendingTitles[attempt.use]} explanation="This takes a moment.">
        <Skeleton h={40} />
      </SessionFrame>
    );
  }
  return (
    <SessionFrame
      title={(failure ? failureTitles : cancellationTitles)[attempt.use]}
      explanation={failure ? "Nothing was changed." : "The provider didn’t sign you in."}
    >
      {failure && (
        <div className={classes.form}>
          <Rejection failure={failure} at={complete.submittedAt} />
        </div>
      )}
      <p className={classes.other}>
        {attempt.use === "sign-in" ? (
          <Link to="/sign-in" search={signInSearch}>
            Go to sign-in
          </Link>
        ) : (
          <Link to={next}>Go back</Link>
        )}
      </p>
    </SessionFrame>
  );
}

function Rejection({ failure, at }: { readonly failure: Failure; readonly at: number }): ReactElement {
  const message =
    failure.issues.find(({ path }) => path === "code")?.message ?? describeRejection(failure, at);
  return <FormFailure message={message} requestId={failure.requestId} />;
}

/** Asks for the code that completes a confirmation. */
function FactorCode({ onCode }: { readonly onCode: (code: string) => void }): ReactElement {
  const form = useForm({ mode: "uncontrolled", initialValues: { code: "" }, validate: { code: checkCode } });
  return (
    <form className={classes.form} noValidate onSubmit={form.onSubmit(({ code }) => onCode(code))}>
      <CodeField {...form.getInputProps("code")} key={form.key("code")} autoFocus />
      <BusyButton type="submit" loading={false}>
        Continue
      </BusyButton>
    </form>
  );
}
