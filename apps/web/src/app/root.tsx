import { Outlet } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { ConnectionBanner } from "./connection-banner.tsx";

/** The content of every page, also of those without a session. */
export function Root(): ReactElement {
  return (
    <>
      <Outlet />
      <ConnectionBanner />
    </>
  );
}
