import { Button, Group } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useSuspenseQuery } from "@tanstack/react-query";
import { type ReactElement, type ReactNode, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { canUsePasskeys } from "../../server/passkey-support.ts";
import { type Passkey, trpc } from "../../server/trpc.ts";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import dialogClasses from "../../ui/dialog.module.css";
import { LazyDialog } from "../../ui/lazy-dialog.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import removalClasses from "../../ui/removal.module.css";
import { type CodesReceiver, Factor } from "./factor.tsx";
import type { PasskeyDialogMode } from "./passkey-dialog.tsx";
import { useFactorsChanged } from "./use-factors-changed.ts";

const passkeyDialog = {
  load: () => import("./passkey-dialog.tsx").then((module) => module.PasskeyDialog),
  closed: { mode: undefined },
};

/** The user's passkeys, each of which can be renamed and removed. */
export function PasskeyFactors({
  passkeys,
  onRecoveryCodes,
}: CodesReceiver & { readonly passkeys: readonly Passkey[] }): ReactElement {
  const { passkeyOrigin } = useSuspenseQuery(trpc.instance.get.queryOptions()).data;
  const [mode, setMode] = useState<PasskeyDialogMode>();
  return (
    <>
      <Factor
        name="Passkeys"
        action={
          canUsePasskeys(passkeyOrigin) && (
            <Button variant="default" onClick={() => setMode({ kind: "add" })}>
              Add a passkey
            </Button>
          )
        }
      >
        {explainPasskeys(passkeyOrigin)}
      </Factor>
      {passkeys.map((passkey) => (
        <PasskeyFactor
          key={passkey.id}
          passkey={passkey}
          onRename={() => setMode({ kind: "rename", passkey })}
        />
      ))}
      <LazyDialog
        source={passkeyDialog}
        props={{ mode, onRecoveryCodes, onClose: () => setMode(undefined) }}
      />
    </>
  );
}

function explainPasskeys(passkeyOrigin: string | null): ReactNode {
  if (passkeyOrigin === null)
    return "Passkeys need an HTTPS URL with a host name, which this instance doesn’t have.";
  if (passkeyOrigin !== window.location.origin)
    return (
      <>
        Open <a href={`${passkeyOrigin}/account/security`}>{passkeyOrigin}</a> to add or use passkeys.
      </>
    );
  return canUsePasskeys(passkeyOrigin)
    ? "Your fingerprint, face, PIN or security key, instead of the password and a code."
    : "This browser doesn’t support passkeys.";
}

function PasskeyFactor({
  passkey: { id, name, createdAt, lastUsedAt },
  onRename,
}: {
  readonly passkey: Passkey;
  readonly onRename: () => void;
}): ReactElement {
  const [isRemoving, setRemoving] = useState(false);
  const showChanged = useFactorsChanged();
  const remove = useMutation(
    trpc.factors.removePasskey.mutationOptions({
      onSuccess: async () => {
        await showChanged();
        // The dialog is removed with the passkey only if the factors could be loaded again.
        setRemoving(false);
        // The button that opened the dialog was removed, so the focus moves to the page.
        document.getElementById("content")?.focus();
        notifications.show({ message: "The passkey was removed." });
      },
    }),
  );
  return (
    <>
      <Factor
        name={<bdi>{name}</bdi>}
        action={
          <Group gap={8} wrap="nowrap">
            <Button
              variant="subtle"
              color="gray"
              aria-label={`Rename the passkey ${name}`}
              onClick={onRename}
            >
              Rename
            </Button>
            <Button
              className={removalClasses.action}
              variant="subtle"
              color="gray"
              aria-label={`Remove the passkey ${name}`}
              onClick={() => setRemoving(true)}
            >
              Remove
            </Button>
          </Group>
        }
      >
        Added <RelativeTime at={createdAt} />,{" "}
        {lastUsedAt === null ? (
          "not used yet"
        ) : (
          <>
            last used <RelativeTime at={lastUsedAt} />
          </>
        )}
        .
      </Factor>
      <ConfirmDialog
        isOpen={isRemoving}
        title="Remove this passkey?"
        action="Remove passkey"
        failure={remove.error ? describeFailure(remove.error) : undefined}
        isBusy={remove.isPending}
        onCancel={() => setRemoving(false)}
        onConfirm={() => remove.mutate({ id })}
        onClosed={() => remove.reset()}
      >
        <p className={dialogClasses.words}>
          <strong>
            <bdi>{name}</bdi>
          </strong>{" "}
          can no longer be used to sign in, and your other sessions end. Also delete it on your device.
          Without another second factor, you and your API keys lose access to workspaces that require one.
        </p>
      </ConfirmDialog>
    </>
  );
}
