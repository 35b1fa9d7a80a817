import type { ReactElement } from "react";
import { describeRecentHours } from "./recent-hours.ts";
import { RelativeTime } from "./relative-time.tsx";
import { useNow } from "./use-now.ts";

interface LastUseHourProps {
  /** The beginning of the hour. */
  readonly startsAt: string;
  /** Whether the words are the beginning of a text, and are capitalized. */
  readonly isFirst?: boolean;
}

/** When something was last used or verified, which is counted by hour. */
export function LastUseHour({ startsAt, isFirst = false }: LastUseHourProps): ReactElement {
  const words = describeRecentHours(startsAt, useNow());
  if (words === undefined) return <RelativeTime at={startsAt} />;
  return (
    <span title="Counted by hour">{isFirst ? words.charAt(0).toUpperCase() + words.slice(1) : words}</span>
  );
}
