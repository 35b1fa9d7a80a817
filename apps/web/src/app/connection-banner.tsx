import { useNetwork } from "@mantine/hooks";
import { IconCloudOff, IconWifiOff } from "@tabler/icons-react";
import { type ReactElement, useSyncExternalStore } from "react";
import { reachability } from "../server/query-client.ts";
import classes from "./connection-banner.module.css";

const texts = {
  unreachable: "Can’t reach the server. Retrying…",
  unavailable: "The server isn’t ready. Retrying…",
} as const;

/**
 * Warns that the page may be out of date. It overlays the page, so that nothing shifts when it
 * appears or disappears.
 */
export function ConnectionBanner(): ReactElement {
  const { online } = useNetwork();
  const state = useSyncExternalStore(reachability.subscribe, () => reachability.state);
  return (
    <div role="status">
      {!online ? (
        <p className={classes.banner}>
          <IconWifiOff size={16} aria-hidden="true" />
          You’re offline. This page shows data from the last connection.
        </p>
      ) : (
        state !== "reachable" && (
          <p className={classes.banner}>
            <IconCloudOff size={16} aria-hidden="true" />
            {texts[state]}
          </p>
        )
      )}
    </div>
  );
}
