import { Skeleton } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactElement, ReactNode } from "react";
import sectionClasses from "../ui/section.module.css";
import { Section } from "../ui/section.tsx";
import { QueryPanel } from "./query-panel.tsx";

interface ChartSectionProps<Data> {
  readonly title: string;
  /** Controls on the right of the heading. */
  readonly action: ReactNode;
  /** Whether the section takes the whole width of the page. */
  readonly isWide?: boolean;
  readonly query: UseQueryResult<Data, unknown>;
  /** Such as "Couldn’t load usage". */
  readonly failureTitle: string;
  /** The chart, or what replaces it. */
  readonly children: (data: NonNullable<Data>) => ReactElement;
}

/** The height of a chart, in pixels. */
const chartHeight = 254;
/** The border and the padding of the box, in pixels. */
const frameHeight = 34;

/** A section with a chart in a box, a placeholder of the same height while its data loads, or why it failed to load. */
export function ChartSection<Data>(props: ChartSectionProps<Data>): ReactElement {
  const { title, action, isWide = false, query, failureTitle, children } = props;
  const { isPending, isPlaceholderData } = query;
  return (
    <Section title={title} isWide={isWide} isBusy={isPending || isPlaceholderData} action={action}>
      <QueryPanel query={query} failureTitle={failureTitle} height={chartHeight + frameHeight}>
        {(data) => (
          <div className={sectionClasses.box}>
            {(isPlaceholderData || !data) && <Skeleton h={chartHeight} />}
            {/* Stays mounted while another period or the next hour loads, so that a table that the user has opened stays open. */}
            {data ? <div hidden={isPlaceholderData}>{children(data)}</div> : null}
          </div>
        )}
      </QueryPanel>
    </Section>
  );
}
