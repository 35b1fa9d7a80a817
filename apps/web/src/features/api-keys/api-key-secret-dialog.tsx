import { useSuspenseQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { trpc } from "../../server/trpc.ts";
import { curlLine } from "../../ui/curl-line.ts";
import { SecretDialog, type SecretDialogProps } from "../../ui/secret-dialog.tsx";

/** Shows a form, and then the secret of the API key that it created or rotated, once. */
export function ApiKeySecretDialog(props: Omit<SecretDialogProps, "kind">): ReactElement {
  const { data: instance } = useSuspenseQuery(trpc.instance.get.queryOptions());
  const kind = {
    noun: "API key",
    command: { title: "Try it", lineOf: (secret: string) => curlLine(instance.baseUrl, secret) },
  };
  return <SecretDialog {...props} kind={kind} />;
}
