import type { ReactElement } from "react";
import { useLoaded } from "../../ui/use-loaded.ts";
import type { IssuedKeysBulkBarProps } from "./issued-keys-bulk-bar.tsx";

// With its code, the page of a keyspace would load more than the 300 kB that `e2e/first-load` allows.
const source = {
  load: () => import("./issued-keys-bulk-bar.tsx").then((module) => module.IssuedKeysBulkBar),
};

/** Loads the actions for selected keys when a key is selected for the first time. */
export function LazyBulkBar(props: IssuedKeysBulkBarProps): ReactElement | null {
  const Bar = useLoaded(source, props.items.length > 0, () => props.onSelect([]));
  return Bar ? <Bar {...props} /> : null;
}
