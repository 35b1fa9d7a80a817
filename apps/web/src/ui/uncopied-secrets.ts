import { createContext, useContext, useEffect, useEffectEvent, useRef, useState } from "react";
import { createInputScope, type InputScope } from "./unsaved-input.ts";

/** A part of a dialog that asks before the dialog closes. */
interface CloseQuestion {
  /** Returns whether the dialog may close. */
  readonly canClose: () => boolean;
  /** Called if the dialog stays open although it was allowed to close. */
  readonly onStay: () => void;
}

/** Warns before the user closes a dialog that shows secrets only once. */
export interface CloseGuard {
  /** Adds a question. Returns a function that removes it. */
  readonly add: (question: CloseQuestion) => () => void;
  /**
   * Calls `close` unless secrets would be lost. The dialog then shows a warning, and the next attempt closes it.
   * `close` calls `stay` if it fails and the dialog therefore stays open.
   */
  readonly attempt: (close: (stay: () => void) => void) => void;
}

export function createCloseGuard(): CloseGuard {
  const questions = new Set<CloseQuestion>();
  return {
    add: (question) => {
      questions.add(question);
      return () => void questions.delete(question);
    },
    attempt: (close) => {
      if (![...questions].every(({ canClose }) => canClose())) return;
      close(() => {
        for (const { onStay } of questions) onStay();
      });
    },
  };
}

/** The guard of the dialog. */
export const CurrentCloseGuard = createContext<CloseGuard>(createCloseGuard());

/** The dialogs with uncopied secrets, which would be lost if the user opened another page or left the app. */
export const CurrentSecretScope = createContext<InputScope>(createInputScope());

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
  const isClosing = useRef(false);
  const canClose = useEffectEvent(() => {
    isClosing.current = uncopiedCount === 0 || hasWarned;
    if (!isClosing.current) setHasWarned(true);
    return isClosing.current;
  });
  const hasSecrets = useEffectEvent(() => uncopiedCount > 0 && !isClosing.current);
  useEffect(() => {
    const onStay = () => {
      isClosing.current = false;
    };
    return add({ canClose: () => canClose(), onStay });
  }, [add]);
  useEffect(() => scope.add(() => hasSecrets()), [scope]);
  return {
    uncopiedCount,
    isWarningShown: hasWarned && uncopiedCount > 0,
    onCopied: (name: string) => setCopied((before) => new Set([...before, name])),
  };
}
