import { type ReactElement, useEffect, useState } from "react";
import { onReauthentication } from "../../server/reauthentication.ts";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";

const passwordDialog = {
  load: () => import("./password-dialog.tsx").then((module) => module.PasswordDialog),
  closed: { answer: undefined },
};

/** Asks the user to authenticate again when a call requires it. */
export function Reauthentication({ email }: { readonly email: string }): ReactElement {
  const [answer, setAnswer] = useState<(isConfirmed: boolean) => void>();
  useEffect(
    () =>
      onReauthentication(
        () =>
          new Promise((resolve) => {
            setAnswer(() => (isConfirmed: boolean) => {
              setAnswer(undefined);
              resolve(isConfirmed);
            });
          }),
      ),
    [],
  );
  return <LazyDialog source={passwordDialog} props={{ email, answer, onClose: () => answer?.(false) }} />;
}
