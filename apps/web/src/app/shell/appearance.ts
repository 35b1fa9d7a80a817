import { isMantineColorScheme, type MantineColorScheme, useMantineColorScheme } from "@mantine/core";
import { useEffect } from "react";

/** How the app can look; "auto" follows the system. */
export const appearances: readonly { readonly value: MantineColorScheme; readonly label: string }[] = [
  { value: "auto", label: "System" },
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
];

export function useAppearance(): [MantineColorScheme, (value: string) => void] {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return [
    colorScheme,
    (value) => {
      if (isMantineColorScheme(value)) setColorScheme(value);
    },
  ];
}

/** The header's colours, as in `public/color-scheme.js`. */
const themeColors = { light: "#f8f9fb", dark: "#13171c" } as const;

/** Gives the browser's own frame the colour of the header when a scheme is chosen. */
export function useThemeColor(): void {
  const { colorScheme } = useMantineColorScheme();
  useEffect(() => {
    for (const meta of document.querySelectorAll<HTMLMetaElement>('meta[name="theme-color"]')) {
      const ofSystem = meta.media.includes("dark") ? "dark" : "light";
      meta.content = themeColors[colorScheme === "auto" ? ofSystem : colorScheme];
    }
  }, [colorScheme]);
}
