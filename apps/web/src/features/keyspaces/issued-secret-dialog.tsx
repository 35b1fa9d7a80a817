import { useSuspenseQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { trpc } from "../../server/trpc.ts";
import { SecretDialog, type SecretDialogProps } from "../../ui/secret-dialog.tsx";
import { verifyCommand } from "./verify-command.ts";

/** Shows a form, and then the secret of the key that it issued or rotated, once. */
export function IssuedSecretDialog(props: Omit<SecretDialogProps, "kind">): ReactElement {
  const { data: instance } = useSuspenseQuery(trpc.instance.get.queryOptions());
  const kind = {
    noun: "key",
    commandTitle: "Verify it",
    commandHelp: (
      <>
        Put one of your API keys in place of <code>$API_KEY</code>. It needs the permission{" "}
        <code>keys:verify</code>.
      </>
    ),
    command: (secret: string) => verifyCommand(instance.baseUrl, secret),
  };
  return <SecretDialog {...props} kind={kind} />;
}
