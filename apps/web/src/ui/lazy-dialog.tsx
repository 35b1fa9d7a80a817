import { type ReactElement, useEffect, useState } from "react";
import { type ComponentSource, useLoaded } from "./use-loaded.ts";

interface DialogProps {
  readonly onClose: () => void;
}

/** A dialog whose code is a separate file. */
interface DialogSource<Props extends DialogProps> extends ComponentSource<Props> {
  /** The props of the closed dialog, such as `{ isOpen: false }`. Other values of these props open it. */
  readonly closed: Partial<Props>;
}

/** Loads a dialog when it opens for the first time, and keeps it rendered. */
export function LazyDialog<Props extends DialogProps>({
  source,
  props,
}: {
  readonly source: DialogSource<Props>;
  readonly props: Props;
}): ReactElement | null {
  const { closed } = source;
  const names = Object.keys(closed) as (keyof Props)[]; // The object's keys.
  const isOpen = names.some((name) => props[name] !== closed[name]);
  const Dialog = useLoaded(source, isOpen, props.onClose);
  const [hasMounted, setHasMounted] = useState(false);
  useEffect(() => setHasMounted(Dialog !== undefined), [Dialog]);
  // Mantine returns the focus after the dialog only if it was rendered closed before it opened.
  return Dialog ? <Dialog {...props} {...(!hasMounted && closed)} /> : null;
}
