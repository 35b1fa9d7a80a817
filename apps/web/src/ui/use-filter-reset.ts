import { useState } from "react";

/**
 * Clears filters. Also changes `key`, which remounts the fields, because an incomplete text is only in its field and not in the
 * URL.
 */
export function useFilterReset(clear: () => void): { readonly key: number; readonly reset: () => void } {
  const [key, setKey] = useState(0);
  return {
    key,
    reset: () => {
      setKey(key + 1);
      clear();
    },
  };
}
