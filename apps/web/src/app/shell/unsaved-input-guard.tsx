import { type ShouldBlockFn, useBlocker } from "@tanstack/react-router";
import { type ReactElement, type ReactNode, useMemo, useState } from "react";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import dialogClasses from "../../ui/dialog.module.css";
import { dialogLayers } from "../../ui/dialog-layers.ts";
import { CurrentDiscardConfirmation, CurrentInputScope, createInputScope } from "../../ui/unsaved-input.ts";

/**
 * Asks for confirmation before unsaved input in `children` is discarded. If the user leaves the app, the browser asks.
 * A navigation within a page, such as a change of its filters, keeps the input.
 */
export function UnsavedInputGuard({ children }: { readonly children: ReactNode }): ReactElement {
  const [scope] = useState(createInputScope);
  const [discard, setDiscard] = useState<() => void>();
  // The same function at each render: the router registers a changed one again.
  const [shouldBlock] = useState(
    () =>
      ({ current, next }: Parameters<ShouldBlockFn>[0]) =>
        current.pathname !== next.pathname && scope.hasInput(),
  );
  const blocker = useBlocker({
    shouldBlockFn: shouldBlock,
    enableBeforeUnload: scope.hasInput,
    withResolver: true,
  });
  const isOpen = discard !== undefined || blocker.status === "blocked";
  const confirmation = useMemo(
    () => ({
      isOpen,
      ask(action: () => void) {
        // In a later task: every open dialog listens to Escape on the window, and React renders between the listeners
        // of one event, so the key press of Escape that opens this dialog would also close it.
        setTimeout(() => setDiscard(() => action));
      },
    }),
    [isOpen],
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
        {children}
        <ConfirmDialog
          isOpen={isOpen}
          title="Discard unsaved changes?"
          action="Discard"
          cancelLabel="Keep editing"
          failure={undefined}
          isBusy={false}
          zIndex={dialogLayers.discard}
          onCancel={close}
          onConfirm={confirm}
        >
          <p className={dialogClasses.words}>What you entered isn’t saved yet.</p>
        </ConfirmDialog>
      </CurrentDiscardConfirmation>
    </CurrentInputScope>
  );
}
