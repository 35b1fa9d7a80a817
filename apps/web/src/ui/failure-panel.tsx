import { IconRefresh } from "@tabler/icons-react";
import { type ReactElement, useEffect, useRef } from "react";
import { BusyButton } from "./busy-button.tsx";
import classes from "./failure-panel.module.css";

export interface FailurePanelProps {
  /** What failed, such as "Couldn’t load API keys". */
  readonly title: string;
  readonly message: string;
  readonly requestId: string | undefined;
  readonly isRetrying?: boolean;
  readonly onRetry: () => void;
}

/** A failure and a retry button, shown instead of content that failed to load. */
export function FailurePanel(props: FailurePanelProps): ReactElement {
  const panel = useRef<HTMLElement>(null);
  const isRetried = useRef(false);
  // The button is removed with the panel when the data arrives. It has no focus by then, because it is disabled while it loads.
  useEffect(() => {
    const frame = panel.current?.closest<HTMLElement>("[role=dialog], #content");
    return () => {
      if (isRetried.current && document.activeElement === document.body)
        frame?.focus({ preventScroll: true });
    };
  }, []);
  return (
    <section className={classes.panel} role="alert" ref={panel}>
      <h2 className={classes.title}>{props.title}</h2>
      <p className={classes.message}>{props.message}</p>
      <BusyButton
        variant="default"
        leftSection={<IconRefresh size={16} />}
        loading={props.isRetrying ?? false}
        onClick={() => {
          isRetried.current = true;
          props.onRetry();
        }}
      >
        Try again
      </BusyButton>
      {props.requestId && (
        <p className={classes.request}>
          Request ID <code>{props.requestId}</code>
        </p>
      )}
    </section>
  );
}
