import { Tooltip } from "@mantine/core";
import type { ReactElement } from "react";
import { describeElapsed, describeExactly } from "./elapsed.ts";
import { useNow } from "./use-now.ts";

/** A moment as time gone by; the exact one shows on hover. */
export function RelativeTime({ at }: { readonly at: string }): ReactElement {
  const now = useNow();
  const moment = new Date(at);
  return (
    <Tooltip label={<Exactly moment={moment} />}>
      <time dateTime={at}>{describeElapsed(moment, now)}</time>
    </Tooltip>
  );
}

/** A component of its own, because spelling a moment out takes its time, and is for nothing until somebody hovers. */
function Exactly({ moment }: { readonly moment: Date }): string {
  return describeExactly(moment);
}
