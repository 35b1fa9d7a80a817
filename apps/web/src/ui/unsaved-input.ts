import { createContext, useContext, useEffect, useEffectEvent } from "react";

/** A part of the app whose forms lose their input together: a dialog, or the page. */
export interface InputScope {
  /** Adds a form. Returns a function that removes it. */
  readonly add: (hasInput: () => boolean) => () => void;
  /** Whether a form has unsaved input. */
  readonly hasInput: () => boolean;
}

export function createInputScope(): InputScope {
  const forms = new Set<() => boolean>();
  return {
    add: (hasInput) => {
      forms.add(hasInput);
      return () => void forms.delete(hasInput);
    },
    hasInput: () => [...forms].some((hasInput) => hasInput()),
  };
}

/** The innermost scope of a form. The pages for signing in have none. */
export const CurrentInputScope = createContext<InputScope>(createInputScope());

/** The confirmation that unsaved input may be discarded. */
export interface DiscardConfirmation {
  readonly isOpen: boolean;
  /** Calls `discard` if the user agrees. With `leavesPage`, it also asks about secrets that would be lost. */
  readonly ask: (discard: () => void, options?: { readonly leavesPage?: boolean }) => void;
}

export const CurrentDiscardConfirmation = createContext<DiscardConfirmation>({
  isOpen: false,
  ask: (discard) => discard(),
});

/**
 * Asks for confirmation before the input of a form is discarded: when the user closes the form's dialog, opens another
 * page, or leaves the app. A button that says "Cancel" discards the input without asking.
 * @param hasInput Called at that time. False if nothing was entered or everything is saved.
 */
export function useUnsavedInput(hasInput: () => boolean): void {
  const scope = useContext(CurrentInputScope);
  const hasInputNow = useEffectEvent(hasInput);
  useEffect(() => scope.add(() => hasInputNow()), [scope]);
}
