import { useLocalStorage } from "@mantine/hooks";

/**
 * Whether exact times replace relative times, and a function that changes the setting. The browser
 * remembers it.
 */
export function useExactTimes(): readonly [boolean, (isExact: boolean) => void] {
  const [isExact, setIsExact] = useLocalStorage({
    key: "latchkey.exact-times",
    defaultValue: false,
    getInitialValueInEffect: false,
  });
  return [isExact, setIsExact];
}
