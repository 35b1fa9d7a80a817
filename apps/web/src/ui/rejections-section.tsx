import { Skeleton } from "@mantine/core";
import { type ReactElement, useState } from "react";
import { FailurePanel, type FailurePanelProps } from "./failure-panel.tsx";
import { defaultRejectionsSize } from "./rejections-search.ts";
import sectionClasses from "./section.module.css";
import { Section } from "./section.tsx";
import type { ComponentSource } from "./use-loaded.ts";
import { useLoadedInView } from "./use-loaded-in-view.ts";

interface RejectionsSectionProps<Rejection> {
  readonly title: string;
  /** Such as "Couldn’t load rejected requests". */
  readonly failureTitle: string;
  /** Undefined while they load. */
  readonly rejections: readonly Rejection[] | undefined;
  /** What is shown if there are none. */
  readonly empty: string;
  /** Why they couldn't be loaded. */
  readonly failure: Pick<FailurePanelProps, "message" | "requestId"> | undefined;
  readonly isRetrying: boolean;
  readonly onRetry: () => void;
  /**
   * Loaded when it comes into view, and only if there are rejections: with its code, a page would load more than the
   * 300 kB that `e2e/first-load` allows.
   */
  readonly table: ComponentSource<{ readonly rejections: readonly Rejection[] }>;
}

/** The last rejected and rate-limited requests with a key, or verifications of it, with their reasons. */
export function RejectionsSection<Rejection>(props: RejectionsSectionProps<Rejection>): ReactElement {
  const { title, failureTitle, rejections, empty, failure, isRetrying, onRetry, table } = props;
  const [hasFailed, setHasFailed] = useState(false);
  const { ref, Component: Table } = useLoadedInView(table, () => setHasFailed(true));
  return (
    <Section title={title}>
      {failure || hasFailed ? (
        <FailurePanel
          title={failureTitle}
          message={failure?.message ?? "Check your connection, then try again."}
          requestId={failure?.requestId}
          isRetrying={isRetrying}
          onRetry={() => {
            setHasFailed(false);
            onRetry();
          }}
        />
      ) : rejections?.length === 0 ? (
        <div className={sectionClasses.box}>
          <p className={sectionClasses.empty}>{empty}</p>
        </div>
      ) : rejections && Table ? (
        <Table rejections={rejections} />
      ) : (
        <Skeleton ref={rejections && ref} h={heightOf(rejections?.length)} />
      )}
    </Section>
  );
}

/**
 * The height of the table in pixels: the count, the borders, the header, and the rows of the first page with the pagination. A
 * reason of more than two lines is higher.
 */
function heightOf(total: number | undefined): number {
  if (total === undefined) return 120;
  return 44 + 2 + 36 + 48 * Math.min(total, defaultRejectionsSize) + (total > defaultRejectionsSize ? 44 : 0);
}
