/** What to do when the OpenID provider redirects back. */
export interface OpenidAttempt {
  readonly use: "sign-in" | "link" | "confirmation";
  /** The page to return to: a path of this app. */
  readonly next: string;
  /** The token of an invitation, with which a new user joins. */
  readonly invitation?: string | undefined;
}

const storageKey = "latchkey-openid";

/**
 * Leaves the app for the OpenID provider. The attempt is kept in this tab, and never leaves the browser.
 * @param onReturn Called if the user goes back and the browser shows the page as it was, with its busy button.
 */
export function goToProvider(url: string, attempt: OpenidAttempt, onReturn: () => void): void {
  window.sessionStorage.setItem(storageKey, JSON.stringify(attempt));
  window.addEventListener("pageshow", onReturn, { once: true });
  window.location.assign(url);
}

/** The attempt that this tab started; undefined in another tab or browser. */
export function findAttempt(): OpenidAttempt | undefined {
  const stored = window.sessionStorage.getItem(storageKey);
  return stored === null ? undefined : (JSON.parse(stored) as OpenidAttempt); // Only `goToProvider` writes it.
}
