import { useLocalStorage } from "@mantine/hooks";

/**
 * Whether the navigation is collapsed to icons, and a function that toggles it. The browser
 * remembers the state.
 */
export function useCollapsedNavigation(): { readonly isCollapsed: boolean; readonly onToggle: () => void } {
  const [isCollapsed, setIsCollapsed] = useLocalStorage({
    key: "latchkey.navigation-folded",
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  return { isCollapsed, onToggle: () => setIsCollapsed((wasCollapsed) => !wasCollapsed) };
}
