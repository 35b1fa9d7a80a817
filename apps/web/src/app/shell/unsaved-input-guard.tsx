import { type ShouldBlockFn, useBlocker } from "@tanstack/react-router";
import { type ReactElement, type ReactNode, useEffect, useMemo, useState } from "react";
import { isReauthenticating } from "../../server/reauthentication.ts";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import dialogClasses from "../../ui/dialog.module.css";
import { dialogLayers } from "../../ui/dialog-layers.ts";
import { CurrentPendingScope, CurrentSecretScope } from "../../ui/uncopied-secrets.ts";
import { CurrentDiscardConfirmation, CurrentInputScope, createInputScope } from "../../ui/unsaved-input.ts";

const inputLabels = {
  title: "Discard unsaved changes?",
  action: "Discard",
  cancelLabel: "Keep editing",
};
const secretLabels = {
  title: "Leave this page?",
  action: "Leave page",
  cancelLabel: "Stay",
};

/**
 * Asks for confirmation before unsaved input or an uncopied secret in `children` is lost. If the user leaves the app, the
 * browser asks.
 * A navigation within a page isn't blocked, because a change of filters keeps the input. So a page whose URL opens a form must
 * replace the history entry: with a new one, Back would close the form without a question.
 */
export function UnsavedInputGuard({ children }: { readonly children: ReactNode }): ReactElement {
  const [scope] = useState(createInputScope);
  const [secrets] = useState(createInputScope);
  const [pending] = useState(createInputScope);
  useEffect(() => secrets.add(() => pending.hasInput() && !isReauthenticating()), [secrets, pending]);
  const [losesAnything] = useState(() => () => scope.hasInput() || secrets.hasInput());
  const [losesSecret, setLosesSecret] = useState(false);
  const [discard, setDiscard] = useState<() => void>();
  // The same functions at each render: the router registers changed ones again.
  const [shouldBlock] = useState(() => ({ current, next }: Parameters<ShouldBlockFn>[0]) => {
    if (current.pathname === next.pathname) return false;
    setLosesSecret(secrets.hasInput());
    return losesAnything();
  });
  const blocker = useBlocker({
    shouldBlockFn: shouldBlock,
    enableBeforeUnload: losesAnything,
    withResolver: true,
  });
  const isOpen = discard !== undefined || blocker.status === "blocked";
  const confirmation = useMemo(
    () => ({
      isOpen,
      ask(action: () => void, { leavesPage = false } = {}) {
        // In a later task: every open dialog listens to Escape on the window, and React renders between the listeners
        // of one event, so the key press of Escape that opens this dialog would also close it.
        setTimeout(() => {
          setLosesSecret(leavesPage && secrets.hasInput());
          setDiscard(() => action);
        });
      },
    }),
    [isOpen, secrets],
  );
  const close = () => {
    setDiscard(undefined);
    blocker.reset?.();
  };
  const confirm = () => {
    setDiscard(undefined);
    discard?.();
    blocker.proceed?.();
  };
  return (
    <CurrentInputScope value={scope}>
      <CurrentDiscardConfirmation value={confirmation}>
        <CurrentSecretScope value={secrets}>
          <CurrentPendingScope value={pending}>{children}</CurrentPendingScope>
        </CurrentSecretScope>
        <ConfirmDialog
          isOpen={isOpen}
          {...(losesSecret ? secretLabels : inputLabels)}
          failure={undefined}
          isBusy={false}
          zIndex={dialogLayers.discard}
          onCancel={close}
          onConfirm={confirm}
        >
          <p className={dialogClasses.words}>
            {losesSecret
              ? "Secrets that you haven’t copied or downloaded would be lost. They won’t be shown again."
              : "What you entered isn’t saved yet."}
          </p>
        </ConfirmDialog>
      </CurrentDiscardConfirmation>
    </CurrentInputScope>
  );
}
