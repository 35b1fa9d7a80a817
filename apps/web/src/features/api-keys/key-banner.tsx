import { Button } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconClockPause, IconPlayerPause, IconRefresh } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { useServiceAccount } from "../../server/key-owner-link.tsx";
import type { ApiKey } from "../../server/trpc.ts";
import { describeExactly } from "../../ui/elapsed.ts";
import { useNow } from "../../ui/use-now.ts";
import { EnableDialog } from "./enable-dialog.tsx";
import classes from "./key-banner.module.css";

interface KeyBannerProps {
  readonly apiKey: ApiKey;
  /** Called when the key was enabled in the banner, which disappears then and can't keep the focus. */
  readonly onEnabled: () => void;
}

/** Reports that a key or its owner is disabled, or that a key is expired or being rotated. Renders nothing otherwise. */
export function KeyBanner({ apiKey, onEnabled }: KeyBannerProps): ReactElement | null {
  const now = useNow();
  const [isEnableOpen, enabling] = useDisclosure(false);
  const { isDisabled, isOwnerDisabled, expiresAt, formerSecrets } = apiKey;
  const account = useServiceAccount(apiKey);
  if (isDisabled) {
    return (
      <section className={classes.banner} aria-label="Status">
        <IconPlayerPause size={18} className={classes.icon} aria-hidden="true" />
        <p>
          <strong>This key is disabled.</strong> All of its requests are rejected until you enable it.
        </p>
        <Button variant="default" size="xs" className={classes.action} onClick={enabling.open}>
          Enable
        </Button>
        <EnableDialog apiKey={apiKey} isOpen={isEnableOpen} onClose={enabling.close} onEnabled={onEnabled} />
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
        <Button
          variant="default"
          size="xs"
          className={classes.action}
          renderRoot={(props) => (
            <Link
              {...props}
              to="/account/api-keys/$keyId"
              params={{ keyId: apiKey.id }}
              search={(search) => ({ ...search, edit: "restrictions" })}
              // Otherwise, Back would close the form without a question.
              replace
            />
          )}
        >
          Change the expiry
        </Button>
      </section>
    );
  }
  if (isOwnerDisabled) {
    return (
      <section className={classes.banner} aria-label="Status">
        <IconPlayerPause size={18} className={classes.icon} aria-hidden="true" />
        <p>
          <strong>The service account of this key is disabled.</strong> All of the key’s requests are rejected
          until the service account is enabled.
        </p>
        {account && (
          <Button
            variant="default"
            size="xs"
            className={classes.action}
            renderRoot={(props) => <Link {...props} {...account.page} />}
          >
            Open service account
          </Button>
        )}
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
