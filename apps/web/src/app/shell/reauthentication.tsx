import { type ReactElement, useEffect, useState } from "react";
import { onReauthentication } from "../../server/reauthentication.ts";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";

const passwordDialog = {
  load: () => import("./password-dialog.tsx").then((module) => module.PasswordDialog),
  closed: { answer: undefined },
};

/** Asks the user to authenticate again when a call requires it. */
export function Reauthentication({ email }: { readonly email: string }): ReactElement {
  const [settle, setSettle] = useState<(isConfirmed: boolean) => void>();
  useEffect(() => onReauthentication(() => new Promise((resolve) => setSettle(() => resolve))), []);
  // All calls share the pending question. After the next sign-in, they would wait for a dialog that no longer exists.
  useEffect(() => () => settle?.(false), [settle]);
  const answer =
    settle &&
    ((isConfirmed: boolean) => {
      setSettle(undefined);
      settle(isConfirmed);
    });
  return <LazyDialog source={passwordDialog} props={{ email, answer, onClose: () => answer?.(false) }} />;
}
