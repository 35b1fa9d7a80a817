import { type ReactElement, useEffect, useState } from "react";
import { queryClient } from "../../server/query-client.ts";
import { onReauthentication } from "../../server/reauthentication.ts";
import { trpc } from "../../server/trpc.ts";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";

const passwordDialog = {
  load: () => import("./password-dialog.tsx").then((module) => module.PasswordDialog),
  closed: { answer: undefined },
};

/** Asks for the password when a call needs it. */
export function Reauthentication({ email }: { readonly email: string }): ReactElement {
  const [answer, setAnswer] = useState<(isConfirmed: boolean) => void>();
  const [hasFactor, setHasFactor] = useState(false);
  useEffect(
    () =>
      onReauthentication(async () => {
        // Without a response, the dialog asks for a code once the API requires it.
        const factors = await queryClient.fetchQuery(trpc.factors.get.queryOptions()).catch(() => undefined);
        setHasFactor(factors !== undefined && factors.totpSince !== null);
        return await new Promise<boolean>((resolve) => {
          setAnswer(() => (isConfirmed: boolean) => {
            setAnswer(undefined);
            resolve(isConfirmed);
          });
        });
      }),
    [],
  );
  return (
    <LazyDialog
      source={passwordDialog}
      props={{ email, hasFactor, answer, onClose: () => answer?.(false) }}
    />
  );
}
