import { IconAlertTriangle } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { ApiKey } from "../../server/trpc.ts";
import { describeExactly } from "../../ui/elapsed.ts";
import classes from "./old-secret-notice.module.css";

interface OldSecretNoticeProps {
  readonly use: NonNullable<ApiKey["rotatedOutUse"]>;
}

/** Warns that an old secret was used after it stopped being valid. */
export function OldSecretNotice({ use }: OldSecretNoticeProps): ReactElement {
  return (
    <section className={classes.notice} aria-label="Old secret used">
      <IconAlertTriangle size={18} className={classes.icon} aria-hidden="true" />
      <p>
        <strong>An old secret was used after it stopped being valid.</strong> Its last request was rejected on{" "}
        {describeExactly(new Date(use.at))}
        {use.address && (
          <>
            {" "}
            from <code>{use.address}</code>
          </>
        )}
        . If you don’t recognize the request, someone else may have that secret.
      </p>
    </section>
  );
}
