import { useState } from "react";

/**
 * Clears filters, and remounts their fields by the key: a text that is incomplete isn't in the URL, so a change of the URL
 * doesn't remove it.
 */
export function useClearing(clear: () => void): { readonly key: number; readonly onClear: () => void } {
  const [key, setKey] = useState(0);
  return {
    key,
    onClear: () => {
      setKey(key + 1);
      clear();
    },
  };
}
