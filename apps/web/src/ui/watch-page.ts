/**
 * Returns a function that says whether the page that is open now is still open, for code that runs after a call: it must
 * not navigate or move the focus if the user has opened another page.
 */
export function watchPage(): () => boolean {
  const { pathname } = window.location;
  return () => window.location.pathname === pathname;
}
