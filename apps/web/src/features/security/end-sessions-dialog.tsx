import { Modal } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useIsMutating, useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { keepBrowserSettings } from "../../server/browser-storage.ts";
import { describeFailure } from "../../server/failure.ts";
import { type ListedSession, trpc } from "../../server/trpc.ts";
import { closeUnlessBusy } from "../../ui/close-unless-busy.ts";
import { ConfirmActions } from "../../ui/confirm-actions.tsx";
import { countOf } from "../../ui/count.ts";
import classes from "../../ui/dialog.module.css";
import { describeElapsed, describeExactly } from "../../ui/elapsed.ts";
import { useNow } from "../../ui/use-now.ts";
import { describeDevice } from "./describe-device.ts";

/** One session, all except the current one, or all. */
export type SessionsToEnd =
  | { readonly kind: "one"; readonly session: ListedSession }
  | { readonly kind: "others"; readonly count: number }
  | { readonly kind: "all" };

const titles = {
  one: "End this session?",
  others: "End all other sessions?",
  all: "Sign out everywhere?",
} as const satisfies Record<SessionsToEnd["kind"], string>;

interface EndSessionsDialogProps {
  /** The dialog is open if it is defined. */
  readonly target: SessionsToEnd | undefined;
  readonly onClose: () => void;
}

/** Asks for confirmation before sessions end. */
export function EndSessionsDialog({ target, onClose }: EndSessionsDialogProps): ReactElement {
  const isEnding =
    useIsMutating({ mutationKey: trpc.account.endSession.mutationKey() }) +
      useIsMutating({ mutationKey: trpc.account.endOtherSessions.mutationKey() }) +
      useIsMutating({ mutationKey: trpc.account.signOutEverywhere.mutationKey() }) >
    0;
  return (
    <Modal
      opened={target !== undefined}
      {...closeUnlessBusy(isEnding, onClose)}
      title={target && titles[target.kind]}
      size={480}
    >
      {target?.kind === "one" && <OneSession session={target.session} onClose={onClose} />}
      {target?.kind === "others" && <OtherSessions count={target.count} onClose={onClose} />}
      {target?.kind === "all" && <AllSessions onClose={onClose} />}
    </Modal>
  );
}

/** Updates the page after sessions have ended. */
function useEnded(onClose: () => void): (message: string) => Promise<void> {
  const queryClient = useQueryClient();
  return async (message) => {
    await Promise.all([
      queryClient.invalidateQueries({ queryKey: trpc.account.sessions.queryKey() }),
      queryClient.invalidateQueries({ queryKey: trpc.securityLog.list.pathKey() }),
    ]);
    onClose();
    // The button that opened the dialog was removed, so the focus moves to the page.
    document.getElementById("content")?.focus();
    notifications.show({ message });
  };
}

function OneSession({
  session,
  onClose,
}: {
  readonly session: ListedSession;
  readonly onClose: () => void;
}): ReactElement {
  const showEnded = useEnded(onClose);
  const now = useNow();
  const lastUsedAt = new Date(session.lastUsedAt);
  const end = useMutation(
    trpc.account.endSession.mutationOptions({
      onSuccess: () => showEnded("The session has ended."),
      onError: async (error) => {
        if (describeFailure(error).code === "NOT_FOUND") await showEnded("The session had already ended.");
      },
    }),
  );
  return (
    <>
      <p className={classes.words}>
        That device is signed out immediately. If you don’t recognize it, also change your password.
      </p>
      <dl className={classes.facts}>
        <dt>Device</dt>
        <dd>{describeDevice(session.device)}</dd>
        {session.address && (
          <>
            <dt>IP address</dt>
            <dd>{session.address}</dd>
          </>
        )}
        <dt>Last used</dt>
        <dd>
          {describeElapsed(lastUsedAt, now)} ({describeExactly(lastUsedAt)})
        </dd>
      </dl>
      <ConfirmActions
        action="End session"
        failure={end.error ? describeFailure(end.error) : undefined}
        isBusy={end.isPending}
        onCancel={onClose}
        onConfirm={() => end.mutate({ id: session.id })}
      />
    </>
  );
}

function OtherSessions({
  count,
  onClose,
}: {
  readonly count: number;
  readonly onClose: () => void;
}): ReactElement {
  const showEnded = useEnded(onClose);
  const end = useMutation(
    trpc.account.endOtherSessions.mutationOptions({
      onSuccess: ({ count: ended }) =>
        showEnded(`${countOf(ended, "other session has", "other sessions have")} ended.`),
    }),
  );
  return (
    <>
      <p className={classes.words}>
        {countOf(count, "other device is", "other devices are")} signed out immediately. You stay signed in
        here, and your API keys keep working.
      </p>
      <ConfirmActions
        action="End sessions"
        failure={end.error ? describeFailure(end.error) : undefined}
        isBusy={end.isPending}
        onCancel={onClose}
        onConfirm={() => end.mutate()}
      />
    </>
  );
}

function AllSessions({ onClose }: { readonly onClose: () => void }): ReactElement {
  const end = useMutation(
    trpc.account.signOutEverywhere.mutationOptions({
      onMutate: keepBrowserSettings,
      onSuccess: (_data, _input, restoreSettings) => {
        restoreSettings();
        // Loads the app again, so that nothing of the account stays in memory.
        window.location.replace("/sign-in");
      },
    }),
  );
  return (
    <>
      <p className={classes.words}>
        All devices, including this one, are signed out immediately. Your API keys keep working.
      </p>
      <ConfirmActions
        action="Sign out everywhere"
        failure={end.error ? describeFailure(end.error) : undefined}
        isBusy={end.isPending}
        onCancel={onClose}
        onConfirm={() => end.mutate()}
      />
    </>
  );
}
