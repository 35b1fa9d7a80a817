import type { ReactElement } from "react";
import { RelativeTime } from "./relative-time.tsx";
import { useNow } from "./use-now.ts";

interface LastUseHourProps {
  /** The beginning of the hour. */
  readonly startsAt: string;
  /** The words for the current hour. */
  readonly thisHour?: string;
}

/** When a key was last used in a workspace, whose uses are counted by hour. */
export function LastUseHour({ startsAt, thisHour = "This hour" }: LastUseHourProps): ReactElement {
  const now = useNow();
  const hours = Math.floor((now.getTime() - Date.parse(startsAt)) / 3_600_000);
  if (hours < 1) return <span title="Uses in a workspace are counted by hour">{thisHour}</span>;
  return <RelativeTime at={startsAt} />;
}
