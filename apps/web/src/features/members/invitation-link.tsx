import type { ReactElement } from "react";
import type { SentInvitation } from "../../server/trpc.ts";
import classes from "../../ui/dialog.module.css";
import { describeExactly } from "../../ui/elapsed.ts";
import { OneTimeLink } from "../../ui/one-time-link.tsx";

/** Where the link of an invitation that was just sent is: in an email, or here, only once. */
export function InvitationLink({ invitation }: { readonly invitation: SentInvitation }): ReactElement {
  const { email, url, expiresAt } = invitation;
  const until = describeExactly(new Date(expiresAt));
  if (url === undefined) {
    return (
      <p className={classes.words}>
        The link is on its way to <strong>{email}</strong>. It works once, until {until}.
      </p>
    );
  }
  return (
    <OneTimeLink url={url}>
      Send this link to <strong>{email}</strong>. It works once, for an account with this email address, until{" "}
      {until}.
    </OneTimeLink>
  );
}
