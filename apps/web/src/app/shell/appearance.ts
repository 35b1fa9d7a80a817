import { isMantineColorScheme, type MantineColorScheme, useMantineColorScheme } from "@mantine/core";
import { useEffect } from "react";

/** The appearances to choose from. "auto" follows the system. */
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

/** The colors of the header, as in `public/color-scheme.js`. */
const themeColors = { light: "#f8f9fb", dark: "#13171c" } as const;

/** Sets the browser's `theme-color` to the color of the header when the color scheme changes. */
export function useThemeColor(): void {
  const { colorScheme } = useMantineColorScheme();
  useEffect(() => {
    for (const meta of document.querySelectorAll<HTMLMetaElement>('meta[name="theme-color"]')) {
      const systemScheme = meta.media.includes("dark") ? "dark" : "light";
      meta.content = themeColors[colorScheme === "auto" ? systemScheme : colorScheme];
    }
  }, [colorScheme]);
}
