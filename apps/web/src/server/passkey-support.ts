/** Whether this page can create and use passkeys: only on the origin that they are bound to, in a browser that has them. */
export function canUsePasskeys(passkeyOrigin: string | null): boolean {
  return passkeyOrigin === window.location.origin && "PublicKeyCredential" in window;
}
