import { useNetwork } from "@mantine/hooks";
import { IconWifiOff } from "@tabler/icons-react";
import type { ReactElement } from "react";
import classes from "./offline-banner.module.css";

/** Says that what is shown may be old. It floats, so that nothing moves when it comes and goes. */
export function OfflineBanner(): ReactElement {
  const { online } = useNetwork();
  return (
    <div role="status">
      {!online && (
        <p className={classes.banner}>
          <IconWifiOff size={16} aria-hidden="true" />
          You’re offline. This page shows data from the last connection.
        </p>
      )}
    </div>
  );
}
