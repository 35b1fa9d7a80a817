/** Cuts a pasted key to its first characters, so that no URL contains a secret. */
export function cutSecret(text: string): string {
  return /^[a-z0-9_]{2,16}_[0-9A-Za-z]{6}(?=[0-9A-Za-z])/.exec(text.trim())?.[0] ?? text;
}

/** How the API searches: by the first characters of a key if the text has its prefix, otherwise by the start of a name. */
export function readKeySearch(q: string | undefined, prefix: string): { start?: string; name?: string } {
  const text = q?.trim() ?? "";
  if (text === "") return {};
  return text.startsWith(`${prefix}_`) && /^[0-9A-Za-z_]+$/.test(text)
    ? { start: text.slice(0, prefix.length + 7) }
    : { name: text };
}
