import { Tooltip } from "@mantine/core";
import type { ReactElement } from "react";
import { describeExactly, readerLocale } from "./elapsed.ts";

const format = new Intl.DateTimeFormat(readerLocale(), { dateStyle: "medium" });

/** The day on which a key expires; hovering shows the exact time. */
export function ExpiryDate({ at }: { readonly at: string | null }): ReactElement {
  if (at === null) return <>Never</>;
  const time = new Date(at);
  return (
    <Tooltip label={describeExactly(time)}>
      <time dateTime={at}>{format.format(time)}</time>
    </Tooltip>
  );
}
