/** The keys of the settings that belong to the browser, and not to the user. */
export const browserSettings = {
  appearance: "latchkey.appearance",
  collapsedNavigation: "latchkey.navigation-folded",
  exactTimes: "latchkey.exact-times",
} as const;

/**
 * Reads the settings of the browser before a call that ends the session, whose response makes the browser clear its storage. Returns
 * a function that stores them again.
 */
export function keepBrowserSettings(): () => void {
  const entries = Object.values(browserSettings).map((key) => [key, readStored(key)] as const);
  return () => {
    for (const [key, text] of entries) if (text) store(key, text);
  };
}

export function readStored(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

/** Stores a text unless storage is blocked. */
export function store(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
  } catch {
    // The caller works without what it stored.
  }
}
