import { createContext, useContext, useEffect, useEffectEvent, useState } from "react";

/** Warns before the user closes a dialog that shows secrets only once. */
export interface CloseGuard {
  /** Adds a question. It returns whether the dialog may close. Returns a function that removes it. */
  readonly add: (canClose: () => boolean) => () => void;
  /** Calls `close` unless secrets would be lost. The dialog then shows a warning, and the next attempt closes it. */
  readonly attempt: (close: () => void) => void;
}

export function createCloseGuard(): CloseGuard {
  const questions = new Set<() => boolean>();
  return {
    add: (canClose) => {
      questions.add(canClose);
      return () => void questions.delete(canClose);
    },
    attempt: (close) => {
      if ([...questions].every((canClose) => canClose())) close();
    },
  };
}

/** The guard of the dialog. */
export const CurrentCloseGuard = createContext<CloseGuard>(createCloseGuard());

/**
 * Warns at the first attempt to close the dialog if one of its secrets was not copied, because it is easy to press Done
 * or Escape too early.
 * @param names One per secret.
 */
export function useUncopiedSecrets(names: readonly string[]) {
  const { add } = useContext(CurrentCloseGuard);
  const [copied, setCopied] = useState<ReadonlySet<string>>(new Set());
  const [hasWarned, setHasWarned] = useState(false);
  const uncopiedCount = names.filter((name) => !copied.has(name)).length;
  const canClose = useEffectEvent(() => {
    if (uncopiedCount === 0 || hasWarned) return true;
    setHasWarned(true);
    return false;
  });
  useEffect(() => add(() => canClose()), [add]);
  return {
    uncopiedCount,
    isWarningShown: hasWarned && uncopiedCount > 0,
    onCopied: (name: string) => setCopied((before) => new Set([...before, name])),
  };
}
