import { IconAlertTriangle } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { ApiKey } from "../../server/trpc.ts";
import { describeExactly } from "../../ui/elapsed.ts";
import classes from "./rotated-out-notice.module.css";

interface RotatedOutNoticeProps {
  readonly use: NonNullable<ApiKey["rotatedOutUse"]>;
}

/** Warns that a former secret was used after its overlap. */
export function RotatedOutNotice({ use }: RotatedOutNoticeProps): ReactElement {
  return (
    <section className={classes.notice} aria-label="A former secret was used after its overlap">
      <IconAlertTriangle size={18} className={classes.icon} aria-hidden="true" />
      <p>
        <strong>A former secret was used after its overlap.</strong> The last request with it was rejected at{" "}
        {describeExactly(new Date(use.at))}
        {use.address && (
          <>
            {" "}
            from <code>{use.address}</code>
          </>
        )}
        . If you don’t recognize it, someone else may have the old secret.
      </p>
    </section>
  );
}
