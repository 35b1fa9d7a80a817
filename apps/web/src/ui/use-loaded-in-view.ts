import { type ComponentType, type RefCallback, useCallback, useState } from "react";
import { type ComponentSource, useLoaded } from "./use-loaded.ts";

interface LoadedInView<Props> {
  /** For the placeholder of the component. */
  readonly ref: RefCallback<HTMLElement>;
  /** Undefined until it has been loaded. */
  readonly Component: ComponentType<Props> | undefined;
}

/**
 * Loads a component when its placeholder comes into view. If it can't be loaded, notifies the user, calls `onFailure`,
 * and tries again when the placeholder next comes into view.
 */
export function useLoadedInView<Props>(
  source: ComponentSource<Props>,
  onFailure?: () => void,
): LoadedInView<Props> {
  const [isSeen, setIsSeen] = useState(false);
  const ref = useCallback((node: HTMLElement | null) => {
    if (!node) return undefined;
    const observer = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) setIsSeen(true);
    });
    observer.observe(node);
    return () => observer.disconnect();
  }, []);
  const Component = useLoaded(source, isSeen, () => {
    setIsSeen(false);
    onFailure?.();
  });
  return { ref, Component };
}
