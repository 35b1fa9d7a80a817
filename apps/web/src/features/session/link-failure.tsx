import { Button } from "@mantine/core";
import type { ReactElement, ReactNode } from "react";
import { describeFailure } from "../../server/failure.ts";
import { FormFailure } from "../../ui/form-failure.tsx";
import classes from "./session-frame.module.css";
import { SessionFrame } from "./session-frame.tsx";

interface LinkFailureProps {
  /** The title if the link is not valid. */
  readonly title: string;
  /** Why the link could not be read; undefined if it is incomplete. */
  readonly error: unknown;
  readonly isRetrying: boolean;
  readonly onRetry: () => void;
  /** Where to go instead. */
  readonly children: ReactNode;
}

/** Explains that a link is incomplete or no longer valid, or that the server couldn't be asked about it. */
export function LinkFailure({ title, error, isRetrying, onRetry, children }: LinkFailureProps): ReactElement {
  const failure = error ? describeFailure(error) : undefined;
  if (failure && failure.code !== "NOT_FOUND") {
    return (
      <SessionFrame title="Couldn’t open the link" explanation="The link may still be valid.">
        <div className={classes.form}>
          <FormFailure message={failure.message} requestId={failure.requestId} />
          <Button variant="default" loading={isRetrying} onClick={onRetry}>
            Try again
          </Button>
        </div>
      </SessionFrame>
    );
  }
  return (
    <SessionFrame
      title={title}
      explanation={failure?.message ?? "The link is incomplete. Open the whole link that you got."}
    >
      <p className={classes.other}>{children}</p>
    </SessionFrame>
  );
}
