import { IconClockPause, IconPlayerPause, IconRefresh } from "@tabler/icons-react";
import type { ReactElement } from "react";
import type { ApiKey } from "../../server/trpc.ts";
import { describeExactly } from "../../ui/elapsed.ts";
import { useNow } from "../../ui/use-now.ts";
import classes from "./key-banner.module.css";

/** Reports that a key is disabled, expired or being rotated. Renders nothing otherwise. */
export function KeyBanner({ apiKey }: { readonly apiKey: ApiKey }): ReactElement | null {
  const now = useNow();
  const { isDisabled, expiresAt, formerSecrets } = apiKey;
  if (isDisabled) {
    return (
      <section className={classes.banner} aria-label="Status">
        <IconPlayerPause size={18} className={classes.icon} aria-hidden="true" />
        <p>
          <strong>This key is disabled.</strong> All of its requests are rejected until you enable it.
        </p>
      </section>
    );
  }
  if (expiresAt !== null && new Date(expiresAt) <= now) {
    return (
      <section className={classes.banner} aria-label="Status">
        <IconClockPause size={18} className={classes.icon} aria-hidden="true" />
        <p>
          <strong>This key expired {describeExactly(new Date(expiresAt))}.</strong> All of its requests are
          rejected. To use it again, change its expiry.
        </p>
      </section>
    );
  }
  const latest = formerSecrets
    .map(({ goodUntil }) => goodUntil)
    .sort()
    .at(-1);
  if (latest === undefined || new Date(latest) <= now) return null;
  return (
    <section className={classes.banner} data-notice aria-label="Status">
      <IconRefresh size={18} className={classes.icon} aria-hidden="true" />
      <p>
        <strong>This key is being rotated.</strong> The old secret works until{" "}
        {describeExactly(new Date(latest))}. Replace it everywhere before then.
      </p>
    </section>
  );
}
