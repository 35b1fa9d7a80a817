import { useLocalStorage } from "@mantine/hooks";

/** Whether the side navigation is folded to icons, and how to turn that over; remembered by the browser. */
export function useNavigationFold(): { readonly isFolded: boolean; readonly onFold: () => void } {
  const [isFolded, setIsFolded] = useLocalStorage({
    key: "latchkey.navigation-folded",
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  return { isFolded, onFold: () => setIsFolded((wasFolded) => !wasFolded) };
}
