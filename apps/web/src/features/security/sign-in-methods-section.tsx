import { Button } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { type ReactElement, useState } from "react";
import { describeFailure } from "../../server/failure.ts";
import { goToProvider } from "../../server/openid.ts";
import { QueryPanel } from "../../server/query-panel.tsx";
import { type LinkedIdentity, trpc } from "../../server/trpc.ts";
import { BusyButton } from "../../ui/busy-button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import dialogClasses from "../../ui/dialog.module.css";
import { RelativeTime } from "../../ui/relative-time.tsx";
import removalClasses from "../../ui/removal.module.css";
import { Section } from "../../ui/section.tsx";
import classes from "./factor.module.css";
import { Factor } from "./factor.tsx";

/** The identity at the OpenID provider with which the user can sign in. Absent if the instance has no provider. */
export function SignInMethodsSection(): ReactElement | null {
  const { openidName } = useSuspenseQuery(trpc.instance.get.queryOptions()).data;
  const methods = useQuery(trpc.account.signInMethods.queryOptions());
  if (openidName === null) return null;
  return (
    <Section title="Sign-in methods">
      <QueryPanel query={methods} failureTitle="Couldn’t load your sign-in methods" height={74}>
        {({ openid }) => <OpenidMethod name={openidName} identity={openid?.identity ?? null} />}
      </QueryPanel>
    </Section>
  );
}

interface OpenidMethodProps {
  /** The name of the provider. */
  readonly name: string;
  /** Null unless an identity is linked. */
  readonly identity: LinkedIdentity | null;
}

function OpenidMethod({ name, identity }: OpenidMethodProps): ReactElement {
  const [isUnlinking, setUnlinking] = useState(false);
  const start = useMutation(
    trpc.account.startOpenid.mutationOptions({
      onSuccess: ({ url }) => {
        goToProvider(url, { use: "link", next: "/account/security" }, start.reset);
      },
      onError: (error) =>
        notifications.show({
          color: "red",
          title: "Nothing was changed",
          message: describeFailure(error).message,
        }),
    }),
  );
  return (
    <>
      <ul className={classes.factors}>
        <Factor
          name={name}
          action={
            identity ? (
              <Button
                className={removalClasses.action}
                variant="subtle"
                color="gray"
                aria-label={`Unlink ${name}`}
                onClick={() => setUnlinking(true)}
              >
                Unlink
              </Button>
            ) : (
              <BusyButton
                aria-label={`Link ${name}`}
                loading={start.isPending || start.isSuccess}
                onClick={() => start.mutate({ use: "link" })}
              >
                Link
              </BusyButton>
            )
          }
        >
          {identity ? (
            <>
              Linked <RelativeTime at={identity.linkedAt} />
              {identity.email && <> as {identity.email}</>}. You can sign in with it.
            </>
          ) : (
            "Link your identity to sign in with it."
          )}
        </Factor>
      </ul>
      <UnlinkDialog name={name} isOpen={isUnlinking} onClose={() => setUnlinking(false)} />
    </>
  );
}

interface UnlinkDialogProps {
  /** The name of the provider. */
  readonly name: string;
  readonly isOpen: boolean;
  readonly onClose: () => void;
}

function UnlinkDialog({ name, isOpen, onClose }: UnlinkDialogProps): ReactElement {
  const queryClient = useQueryClient();
  const unlink = useMutation(
    trpc.account.unlinkOpenid.mutationOptions({
      onSuccess: async () => {
        await queryClient.invalidateQueries({ queryKey: trpc.account.signInMethods.queryKey() });
        await queryClient.invalidateQueries({ queryKey: trpc.securityLog.pathKey() });
        await queryClient.invalidateQueries({ queryKey: trpc.account.sessions.queryKey() });
        onClose();
        // The button that opened the dialog was replaced, so the focus moves to the page.
        document.getElementById("content")?.focus();
        notifications.show({ message: "The identity was unlinked. Your other sessions have ended." });
      },
    }),
  );
  return (
    <ConfirmDialog
      isOpen={isOpen}
      title={`Unlink ${name}?`}
      action="Unlink identity"
      failure={unlink.error ? describeFailure(unlink.error) : undefined}
      isBusy={unlink.isPending}
      onCancel={onClose}
      onConfirm={() => unlink.mutate()}
      onClosed={() => unlink.reset()}
    >
      <p className={dialogClasses.words}>
        You can no longer sign in with your identity at {name}, and your other sessions end. You can link it
        again.
      </p>
    </ConfirmDialog>
  );
}
