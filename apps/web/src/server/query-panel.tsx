import { Skeleton } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { FailurePanel } from "../ui/failure-panel.tsx";
import { useLoadingFailure } from "./use-loading-failure.ts";

interface QueryPanelProps<Data> {
  readonly query: UseQueryResult<Data, unknown>;
  /** Such as "Couldn’t load usage". */
  readonly failureTitle: string;
  /** The height of the placeholder while the data loads, in pixels. */
  readonly height: number;
  /** Called before the query is retried. The retry button, which has the focus, is removed when the data arrives. */
  readonly onRetry?: () => void;
  readonly children: (data: Data) => ReactElement;
}

/** The data of a query, a placeholder while it loads, or why it failed to load. */
export function QueryPanel<Data>({
  query,
  failureTitle,
  height,
  onRetry,
  children,
}: QueryPanelProps<Data>): ReactElement {
  const failure = useLoadingFailure(query);
  if (failure) {
    return (
      <FailurePanel
        title={failureTitle}
        message={failure.message}
        requestId={failure.requestId}
        isRetrying={query.isFetching}
        onRetry={() => {
          onRetry?.();
          void query.refetch();
        }}
      />
    );
  }
  return query.data === undefined ? <Skeleton h={height} /> : children(query.data);
}
