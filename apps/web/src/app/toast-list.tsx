import { Notifications } from "@mantine/notifications";
import type { ReactElement } from "react";

export function ToastList(): ReactElement {
  return <Notifications position="bottom-right" autoClose={5_000} limit={3} transitionDuration={0} />;
}
