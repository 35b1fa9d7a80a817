import { useLocalStorage, useMediaQuery } from "@mantine/hooks";
import { browserSettings } from "../../server/browser-storage.ts";

/**
 * Whether the navigation is collapsed to icons, and a function that toggles it. The browser remembers the state. Until the
 * user chooses one, the navigation is collapsed in windows in which lists would otherwise have too little room for a table.
 */
export function useCollapsedNavigation(): { readonly isCollapsed: boolean; readonly onToggle: () => void } {
  const options = { getInitialValueInEffect: false };
  const isNarrow = useMediaQuery("(max-width: 899px)", false, options);
  const [chosen, setChosen] = useLocalStorage<boolean | null>({
    key: browserSettings.collapsedNavigation,
    defaultValue: null,
    ...options,
  });
  const isCollapsed = chosen ?? isNarrow;
  return { isCollapsed, onToggle: () => setChosen(!isCollapsed) };
}
