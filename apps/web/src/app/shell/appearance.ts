import { isMantineColorScheme, type MantineColorScheme, useMantineColorScheme } from "@mantine/core";

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
