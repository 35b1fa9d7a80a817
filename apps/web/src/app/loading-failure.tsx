import { type ErrorComponentProps, useRouter } from "@tanstack/react-router";
import { type ReactElement, useCallback, useEffect, useTransition } from "react";
import { describeFailure } from "../server/failure.ts";
import { onRecovered } from "../server/query-client.ts";
import { FailurePanel } from "../ui/failure-panel.tsx";
import classes from "./loading-failure.module.css";

/** Replaces a page that failed to open, and opens it when the server is back. */
export function LoadingFailure({ error, reset }: ErrorComponentProps): ReactElement {
  const router = useRouter();
  const [isRetrying, startRetry] = useTransition();
  const failure = describeFailure(error);
  const retry = useCallback(
    () =>
      startRetry(async () => {
        reset();
        await router.invalidate();
      }),
    [reset, router],
  );
  useEffect(() => onRecovered(retry), [retry]);
  return (
    <div className={classes.page}>
      <FailurePanel
        title="Couldn’t open this page"
        message={failure.message}
        requestId={failure.requestId}
        isRetrying={isRetrying}
        onRetry={retry}
      />
    </div>
  );
}
