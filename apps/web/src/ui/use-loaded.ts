import { notifications } from "@mantine/notifications";
import { type ComponentType, useEffect, useEffectEvent, useState } from "react";

/** A component whose code is a separate file. */
export interface ComponentSource<Props> {
  readonly load: () => Promise<ComponentType<Props>>;
  /** Set once the component has been loaded. */
  loaded?: ComponentType<Props>;
}

/**
 * Loads a component when it is needed for the first time. Returns undefined until then. If it can't be loaded, notifies
 * the user and calls `onFailure`, which must make it no longer needed.
 */
export function useLoaded<Props>(
  source: ComponentSource<Props>,
  isNeeded: boolean,
  onFailure: () => void,
): ComponentType<Props> | undefined {
  const [component, setComponent] = useState(() => source.loaded);
  const fail = useEffectEvent(() => {
    onFailure();
    notifications.show({
      color: "red",
      title: "Couldn’t load this part of the app",
      // Some browsers don't request a module again after it failed to load.
      message: "Check your connection, then reload the page.",
    });
  });
  useEffect(() => {
    if (!isNeeded || component) return;
    source.load().then((loaded) => {
      source.loaded = loaded;
      setComponent(() => loaded);
    }, fail);
  }, [source, isNeeded, component]);
  return component;
}
