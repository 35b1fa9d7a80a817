import { Skeleton } from "@mantine/core";
import type { ReactElement } from "react";
import { Logo } from "../../ui/logo.tsx";
import classes from "./session-frame.module.css";

/** The placeholder of the sign-in and sign-up pages while the session loads. */
export function SessionSkeleton(): ReactElement {
  return (
    <main className={classes.page} aria-busy="true" aria-label="Loading">
      <div className={classes.brand}>
        <Logo size={28} />
        Latchkey
      </div>
      <div className={classes.card}>
        <Skeleton h={28} w={120} />
        <Skeleton h={20} mt={2} mb={20} />
        <Skeleton h={56} mb={16} />
        <Skeleton h={56} mb={16} />
        <Skeleton h={32} />
      </div>
    </main>
  );
}
