import { Button } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { describeFailure, type Failure, isResponseLost } from "../../server/failure.ts";
import { QueryPanel } from "../../server/query-panel.tsx";
import { type NewTotp, trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { countOf } from "../../ui/count.ts";
import dialogClasses from "../../ui/dialog.module.css";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import removalClasses from "../../ui/removal.module.css";
import { Section } from "../../ui/section.tsx";
import { usePendingSecrets } from "../../ui/uncopied-secrets.ts";
import classes from "./factor.module.css";
import { type CodesReceiver, Factor } from "./factor.tsx";
import { PasskeyFactors } from "./factor-passkeys.tsx";
import { useFactorsChanged } from "./use-factors-changed.ts";

const totpDialog = {
  load: () => import("./totp-dialog.tsx").then((module) => module.TotpDialog),
  closed: { totp: undefined },
};

const recoveryCodesDialog = {
  load: () => import("./recovery-codes-dialog.tsx").then((module) => module.RecoveryCodesDialog),
  closed: { codes: undefined },
};

function showFailure(error: unknown): void {
  notifications.show({ color: "red", title: "Nothing was changed", message: describeFailure(error).message });
}

/** The user's second factors, with which a password alone is no longer enough to sign in. */
export function FactorsSection(): ReactElement {
  const factors = useQuery(trpc.factors.get.queryOptions());
  const [codes, setCodes] = useState<readonly string[]>();
  const closeCodes = () => {
    setCodes(undefined);
    // The button that opened the dialog was replaced, so the focus moves to the page.
    document.getElementById("content")?.focus();
  };
  return (
    <Section title="Second factors">
      <QueryPanel query={factors} failureTitle="Couldn’t load your second factors" height={74}>
        {({ totpSince, passkeys, recoveryCodeCount }) => (
          <ul className={classes.factors}>
            <TotpFactor since={totpSince} onRecoveryCodes={setCodes} />
            <PasskeyFactors passkeys={passkeys} onRecoveryCodes={setCodes} />
            {(totpSince !== null || passkeys.length > 0) && (
              <RecoveryCodes count={recoveryCodeCount} onRecoveryCodes={setCodes} />
            )}
          </ul>
        )}
      </QueryPanel>
      <LazyDialog source={recoveryCodesDialog} props={{ codes, onClose: closeCodes }} />
    </Section>
  );
}

function TotpFactor({
  since,
  onRecoveryCodes,
}: CodesReceiver & { readonly since: string | null }): ReactElement {
  const [totp, setTotp] = useState<NewTotp>();
  const [isRemoving, setRemoving] = useState(false);
  const showChanged = useFactorsChanged();
  const create = useMutation(
    trpc.factors.createTotp.mutationOptions({
      onSuccess: (created) => {
        setTotp(created);
        create.reset(); // The secret exists only while its dialog is open.
      },
      onError: showFailure,
    }),
  );
  const disable = useMutation(
    trpc.factors.disableTotp.mutationOptions({
      onSuccess: async () => {
        await showChanged();
        setRemoving(false);
        // The button that opened the dialog was replaced, so the focus moves to the page.
        document.getElementById("content")?.focus();
        notifications.show({ message: "The authenticator app was removed." });
      },
    }),
  );
  return (
    <>
      <Factor
        name="Authenticator app"
        action={
          since === null ? (
            <BusyButton
              aria-label="Set up an authenticator app"
              loading={create.isPending}
              onClick={() => create.mutate()}
            >
              Set up
            </BusyButton>
          ) : (
            <Button
              className={removalClasses.action}
              variant="subtle"
              color="gray"
              aria-label="Remove the authenticator app"
              onClick={() => setRemoving(true)}
            >
              Remove
            </Button>
          )
        }
      >
        {since === null ? (
          "A code from an app on your phone, in addition to your password."
        ) : (
          <>
            Set up <RelativeTime at={since} />. Sign-in asks for a code.
          </>
        )}
      </Factor>
      <LazyDialog source={totpDialog} props={{ totp, onRecoveryCodes, onClose: () => setTotp(undefined) }} />
      <ConfirmDialog
        isOpen={isRemoving}
        title="Remove the authenticator app?"
        action="Remove authenticator app"
        failure={disable.error ? describeFailure(disable.error) : undefined}
        isBusy={disable.isPending}
        onCancel={() => setRemoving(false)}
        onConfirm={() => disable.mutate()}
        onClosed={() => disable.reset()}
      >
        <p className={dialogClasses.words}>
          Its codes stop working, and your other sessions end. Without another second factor, your recovery
          codes stop working too, your password is enough to sign in, and you and your API keys lose access to
          workspaces that require one.
        </p>
      </ConfirmDialog>
    </>
  );
}

function RecoveryCodes({ count, onRecoveryCodes }: CodesReceiver & { readonly count: number }): ReactElement {
  const [isReplacing, setReplacing] = useState(false);
  const showChanged = useFactorsChanged();
  const replace = useMutation(
    trpc.factors.createRecoveryCodes.mutationOptions({
      onSuccess: async ({ recoveryCodes }) => {
        setReplacing(false);
        onRecoveryCodes(recoveryCodes);
        await showChanged();
      },
      // If the response was lost, the page can show how many codes there are.
      onError: (error) => {
        if (isResponseLost(error)) void showChanged();
      },
    }),
  );
  usePendingSecrets(replace.isPending);
  return (
    <>
      <Factor
        name="Recovery codes"
        action={
          <Button variant="default" onClick={() => setReplacing(true)}>
            Create new codes
          </Button>
        }
      >
        {countOf(count, "unused code", "unused codes")}. Each works once, if you lose your device.
      </Factor>
      <ConfirmDialog
        isOpen={isReplacing}
        title="Create new recovery codes?"
        action="Create new codes"
        failure={replace.error ? describeReplacementFailure(replace.error) : undefined}
        isBusy={replace.isPending}
        onCancel={() => setReplacing(false)}
        onConfirm={() => replace.mutate()}
        onClosed={() => replace.reset()}
      >
        <p className={dialogClasses.words}>Your current recovery codes stop working.</p>
      </ConfirmDialog>
    </>
  );
}

function describeReplacementFailure(error: unknown): Failure {
  const failure = describeFailure(error);
  if (failure.code !== "NO_ANSWER") return failure;
  const message =
    "The server didn’t respond. Your current codes may have stopped working. Try again to get new ones.";
  return { ...failure, message };
}
