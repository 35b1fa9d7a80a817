import type { ReactElement } from "react";
import { describeElapsed, describeExactly } from "../../ui/elapsed.ts";
import { useNow } from "../../ui/use-now.ts";

/** When a key was last used, for the dialogs that disable or delete it. */
export function LastUse({ at }: { readonly at: string | null }): ReactElement {
  const now = useNow();
  if (at === null) return <>Never used</>;
  const time = new Date(at);
  return <>{`${describeElapsed(time, now)} (${describeExactly(time)})`}</>;
}
