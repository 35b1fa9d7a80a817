import { Button } from "@mantine/core";
import { useMutation, useSuspenseQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { canUsePasskeys } from "../../server/passkey-support.ts";
import { loadPasskeyLibrary, usePasskey } from "../../server/passkeys.ts";
import { type Session, trpc } from "../../server/trpc.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import classes from "./session-frame.module.css";

interface PasskeySignInProps {
  /** Whether the password was already entered, and only passkeys of its account can be used. */
  readonly isSecondFactor: boolean;
  readonly onSession: (session: Session) => Promise<void>;
}

/** Signs in with a passkey. At another URL of the instance, links to the one that passkeys are valid for. */
export function PasskeySignIn({ isSecondFactor, onSession }: PasskeySignInProps): ReactElement | null {
  const { passkeyOrigin } = useSuspenseQuery(trpc.instance.get.queryOptions()).data;
  const start = useMutation(trpc.session.startPasskey.mutationOptions({ meta: { isSignIn: true } }));
  const finish = useMutation(trpc.session.signInWithPasskey.mutationOptions({ meta: { isSignIn: true } }));
  const passkey = usePasskey(async () => {
    const optionsJSON = await start.mutateAsync({ isSecondFactor });
    const { startAuthentication } = await loadPasskeyLibrary();
    const response = await startAuthentication({ optionsJSON });
    await onSession(await finish.mutateAsync({ response }));
  });
  if (!canUsePasskeys(passkeyOrigin)) {
    if (!isSecondFactor || passkeyOrigin === null || passkeyOrigin === window.location.origin) return null;
    return (
      <p className={classes.other}>
        Your passkeys work at <a href={`${passkeyOrigin}/sign-in`}>{passkeyOrigin}</a>. Sign in there to use
        one.
      </p>
    );
  }
  return (
    <>
      {passkey.failure && <FormFailure {...passkey.failure} />}
      <Button variant="default" loading={passkey.isBusy} onClick={() => void passkey.start()}>
        {isSecondFactor ? "Use a passkey" : "Sign in with a passkey"}
      </Button>
    </>
  );
}
