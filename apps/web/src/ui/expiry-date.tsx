import { Tooltip } from "@mantine/core";
import { type ReactElement, useContext } from "react";
import { describeExactly, readerLocale } from "./elapsed.ts";
import { ExactTimes } from "./exact-times.ts";
import { ExactTime, timeTooltipEvents } from "./relative-time.tsx";

const format = new Intl.DateTimeFormat(readerLocale(), { dateStyle: "medium" });

/**
 * The day on which a key expires. Shows the exact time on hover or tap, or always if the user has
 * chosen exact times.
 */
export function ExpiryDate({ at }: { readonly at: string | null }): ReactElement {
  const isExact = useContext(ExactTimes);
  if (at === null) return <>Never</>;
  if (isExact) return <ExactTime at={at} />;
  const time = new Date(at);
  return (
    <Tooltip label={describeExactly(time)} events={timeTooltipEvents}>
      <time dateTime={at}>{format.format(time)}</time>
    </Tooltip>
  );
}
