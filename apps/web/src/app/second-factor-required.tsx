import { Button } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import classes from "../ui/empty.module.css";
import { Quoted } from "../ui/quoted.tsx";

/** Replaces the pages of a workspace that requires a second factor, until the user has one. */
export function SecondFactorRequired({ name }: { readonly name: string }): ReactElement {
  useDocumentTitle("Second factor required · Latchkey");
  return (
    <section className={classes.panel}>
      <h1 className={classes.title}>
        <Quoted>{name}</Quoted> requires a second factor
      </h1>
      <p className={classes.words}>
        Set up an authenticator app or a passkey for your account, then come back. Your other workspaces, your
        API keys and your account are not affected.
      </p>
      <Button renderRoot={(props) => <Link {...props} to="/account/security" />}>
        Set up a second factor
      </Button>
    </section>
  );
}
