import "@mantine/core/styles/Notification.css";
import "@mantine/notifications/styles.css";
import { createTheme, MantineThemeProvider, Notification } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import type { ReactElement } from "react";
import classes from "./toast-list.module.css";

/** Not part of the theme of the app, so that pages load without the code and styles of toasts. */
const theme = createTheme({
  components: {
    Notification: Notification.extend({
      defaultProps: { closeButtonProps: { "aria-label": "Dismiss" } },
      classNames: {
        root: classes.toast ?? "",
        title: classes.title ?? "",
        description: classes.message ?? "",
        closeButton: classes.close ?? "",
      },
    }),
  },
});

export function ToastList(): ReactElement {
  return (
    <MantineThemeProvider theme={theme}>
      <Notifications position="bottom-right" autoClose={5_000} limit={3} transitionDuration={0} />
    </MantineThemeProvider>
  );
}
