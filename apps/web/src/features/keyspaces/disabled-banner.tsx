import { IconPlayerPause } from "@tabler/icons-react";
import type { ReactElement, ReactNode } from "react";
import classes from "./keyspaces.module.css";

/** Reports that a keyspace, a key, or the keyspace of a key is disabled. */
export function DisabledBanner({ children }: { readonly children: ReactNode }): ReactElement {
  return (
    <section className={classes.banner} aria-label="Status">
      <IconPlayerPause size={18} className={classes.bannerIcon} aria-hidden="true" />
      <p>{children}</p>
    </section>
  );
}
