import { createContext, useContext, useEffect, useEffectEvent, useRef, useState } from "react";
import { createInputScope, type InputScope } from "./unsaved-input.ts";

/** A part of a dialog that shows secrets. */
interface GuardedSecrets {
  /** Returns false if closing the dialog would lose secrets. The dialog then shows a warning, and the next call returns true. */
  readonly mayClose: () => boolean;
  /** Call it before the dialog closes. Leaving the page then no longer asks about these secrets. */
  readonly discard: () => void;
}

/** Warns before the user closes a dialog that shows secrets only once. */
export interface CloseGuard extends GuardedSecrets {
  /** Adds a part of the dialog. Returns a function that removes it. */
  readonly add: (secrets: GuardedSecrets) => () => void;
  /** Closes the dialog unless secrets would be lost. The dialog then shows a warning, and the next attempt closes it. */
  readonly attempt: (close: () => void) => void;
}

export function createCloseGuard(): CloseGuard {
  const parts = new Set<GuardedSecrets>();
  const mayClose = () => [...parts].map((part) => part.mayClose()).every(Boolean);
  const discard = () => {
    for (const part of parts) part.discard();
  };
  return {
    add: (part) => {
      parts.add(part);
      return () => void parts.delete(part);
    },
    mayClose,
    discard,
    attempt: (close) => {
      if (!mayClose()) return;
      discard();
      close();
    },
  };
}

/** The guard of the dialog. */
export const CurrentCloseGuard = createContext<CloseGuard>(createCloseGuard());

/** The dialogs with uncopied secrets, which would be lost if the user opened another page or left the app. */
export const CurrentSecretScope = createContext<InputScope>(createInputScope());

/** The calls in flight whose responses contain secrets. */
export const CurrentPendingScope = createContext<InputScope>(createInputScope());

/**
 * Asks for confirmation before another page replaces the dialog, and before the user leaves the app, while a call is in
 * flight whose response contains a secret: nothing would show the secret.
 */
export function usePendingSecrets(isPending: boolean): void {
  const scope = useContext(CurrentPendingScope);
  const isPendingNow = useEffectEvent(() => isPending);
  useEffect(() => scope.add(() => isPendingNow()), [scope]);
}

/**
 * Warns at the first attempt to close the dialog if one of its secrets was not copied, because it is easy to press Done
 * or Escape too early. Asks for confirmation before another page replaces the dialog, and before the user leaves the app.
 * @param names One per secret.
 */
export function useUncopiedSecrets(names: readonly string[]) {
  const { add } = useContext(CurrentCloseGuard);
  const scope = useContext(CurrentSecretScope);
  const [copied, setCopied] = useState<ReadonlySet<string>>(new Set());
  const [hasWarned, setHasWarned] = useState(false);
  const uncopiedCount = names.filter((name) => !copied.has(name)).length;
  // A dialog that closes may open another page before it unmounts.
  const isDiscarded = useRef(false);
  const mayClose = useEffectEvent(() => {
    if (uncopiedCount > 0) setHasWarned(true);
    return uncopiedCount === 0 || hasWarned;
  });
  const hasSecrets = useEffectEvent(() => uncopiedCount > 0 && !isDiscarded.current);
  useEffect(() => {
    const discard = () => {
      isDiscarded.current = true;
    };
    return add({ mayClose: () => mayClose(), discard });
  }, [add]);
  useEffect(() => scope.add(() => hasSecrets()), [scope]);
  return {
    uncopiedCount,
    isWarningShown: hasWarned && uncopiedCount > 0,
    onCopied: (name: string) => setCopied((before) => new Set([...before, name])),
  };
}
