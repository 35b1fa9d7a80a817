import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { SessionFrame } from "./session-frame.tsx";

/**
 * Asks the user to sign in. Shown instead of a page with an emailed link that works only in a session of the account.
 * @param purpose such as "verify your email address".
 */
export function SignInRequired({ purpose }: { readonly purpose: string }): ReactElement {
  return (
    <SessionFrame
      title="Sign in first"
      explanation={`To ${purpose}, sign in to your account in this browser, and then open the link again.`}
    >
      <Button fullWidth renderRoot={(props) => <Link {...props} to="/sign-in" target="_blank" />}>
        Sign in
      </Button>
    </SessionFrame>
  );
}
