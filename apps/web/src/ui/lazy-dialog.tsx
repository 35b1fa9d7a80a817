import { notifications } from "@mantine/notifications";
import { type ComponentType, type ReactElement, useEffect, useEffectEvent, useState } from "react";

interface DialogProps {
  readonly onClose: () => void;
}

/** A dialog whose code is a separate file. */
interface DialogSource<Props extends DialogProps> {
  readonly load: () => Promise<ComponentType<Props>>;
  /** The props of the closed dialog, such as `{ isOpen: false }`. Other values of these props open it. */
  readonly closed: Partial<Props>;
}

/** The dialogs that have been loaded. */
const loaded = new Map<unknown, unknown>();

/** Loads a dialog when it opens for the first time, and renders it from then on. */
export function LazyDialog<Props extends DialogProps>({
  source,
  props,
}: {
  readonly source: DialogSource<Props>;
  readonly props: Props;
}): ReactElement | null {
  const { load, closed } = source;
  const [Dialog, setDialog] = useState(() => loaded.get(source) as ComponentType<Props> | undefined); // Set below.
  const [hasMounted, setHasMounted] = useState(false);
  const names = Object.keys(closed) as (keyof Props)[]; // The object's keys.
  const isOpen = names.some((name) => props[name] !== closed[name]);
  const fail = useEffectEvent(() => {
    props.onClose();
    notifications.show({
      color: "red",
      title: "Couldn’t open the dialog",
      // Browsers don't request a module again after it failed to load.
      message: "Check your connection, then reload the page.",
    });
  });
  useEffect(() => {
    if (!isOpen || Dialog) return;
    load().then((component) => {
      loaded.set(source, component);
      setDialog(() => component);
    }, fail);
  }, [source, load, isOpen, Dialog]);
  useEffect(() => setHasMounted(Dialog !== undefined), [Dialog]);
  // Mantine returns the focus after the dialog only if it was rendered closed before it opened.
  return Dialog ? <Dialog {...props} {...(!hasMounted && closed)} /> : null;
}
