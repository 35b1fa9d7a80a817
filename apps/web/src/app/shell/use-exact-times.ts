import { useLocalStorage } from "@mantine/hooks";
import { browserSettings } from "../../server/browser-storage.ts";

/**
 * Whether exact times replace relative times, and a function that changes the setting. The browser
 * remembers it.
 */
export function useExactTimes(): readonly [boolean, (isExact: boolean) => void] {
  const [isExact, setIsExact] = useLocalStorage({
    key: browserSettings.exactTimes,
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  return [isExact, setIsExact];
}
