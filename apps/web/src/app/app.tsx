import { localStorageColorSchemeManager, MantineProvider } from "@mantine/core";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import type { ReactElement } from "react";
import { browserSettings } from "../server/browser-storage.ts";
import { queryClient } from "../server/query-client.ts";
import { router } from "./router.tsx";
import { resolveCssVariables, theme } from "./theme.ts";
import { Toasts } from "./toasts.tsx";

// `public/color-scheme.js` reads the same entry before the first paint.
const colorSchemeManager = localStorageColorSchemeManager({ key: browserSettings.appearance });

export function App(): ReactElement {
  return (
    <QueryClientProvider client={queryClient}>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={resolveCssVariables}
        colorSchemeManager={colorSchemeManager}
        defaultColorScheme="auto"
      >
        <RouterProvider router={router} />
        <Toasts />
      </MantineProvider>
    </QueryClientProvider>
  );
}
