import { useSuspenseQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactElement, ReactNode } from "react";
import { trpc } from "../../server/trpc.ts";
import { SecretDialog, type SecretDialogProps } from "../../ui/secret-dialog.tsx";
import { verifyCommand } from "./verify-command.ts";

interface IssuedSecretDialogProps extends Omit<SecretDialogProps, "kind"> {
  /** Whether the key has been verified. */
  readonly status?: ReactNode;
}

/** Shows a form, and then the secret of the key that it issued or rotated, once. */
export function IssuedSecretDialog({ status, ...props }: IssuedSecretDialogProps): ReactElement {
  const { data: instance } = useSuspenseQuery(trpc.instance.get.queryOptions());
  const kind = {
    noun: "key",
    command: {
      title: "Verify it",
      help: (
        <>
          Replace <code>$API_KEY</code> with one of your API keys. It needs the permission{" "}
          <code>keys:verify</code>. If you have none,{" "}
          <Link to="/account/api-keys" search={{ dialog: "new" }} target="_blank">
            create one in a new tab
          </Link>
          .
        </>
      ),
      status,
      lineOf: (secret: string) => verifyCommand(instance.baseUrl, secret),
    },
  };
  return <SecretDialog {...props} kind={kind} />;
}
