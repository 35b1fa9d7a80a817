import { Tooltip } from "@mantine/core";
import { type ReactElement, useContext } from "react";
import { describeElapsed, describeExactly, describeRemaining } from "./elapsed.ts";
import { ExactTimes } from "./exact-times.ts";
import classes from "./relative-time.module.css";
import { useNow } from "./use-now.ts";

interface RelativeTimeProps {
  readonly at: string;
  /** Whether the event is still to happen. Otherwise, a time after now counts as now, because clocks differ slightly. */
  readonly isFuture?: boolean;
}

/**
 * A time relative to now. Hovering or tapping shows the exact time. If the user has chosen exact
 * times in the account menu, which works with the keyboard, the exact time is shown instead.
 */
export function RelativeTime({ at, isFuture = false }: RelativeTimeProps): ReactElement {
  const now = useNow();
  const isExact = useContext(ExactTimes);
  const time = new Date(at);
  if (isExact) return <ExactTime at={at} />;
  return (
    <Tooltip label={<ExactTimeText time={time} />} events={timeTooltipEvents}>
      <time dateTime={at}>{isFuture ? describeRemaining(time, now) : describeElapsed(time, now)}</time>
    </Tooltip>
  );
}

/** The date, the time and the time zone. */
export function ExactTime({ at }: { readonly at: string }): ReactElement {
  return (
    <time dateTime={at} className={classes.exact}>
      {/* The time zone stays beside the time. */}
      {describeExactly(new Date(at)).replace(/ (?=\S+$)/, "\u00a0")}
    </time>
  );
}

export const timeTooltipEvents = { hover: true, focus: true, touch: true };

/** A separate component, so that the time is formatted only when the tooltip opens. */
function ExactTimeText({ time }: { readonly time: Date }): string {
  return describeExactly(time);
}
