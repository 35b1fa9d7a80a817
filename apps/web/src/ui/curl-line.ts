/**
 * A shell command that calls the open API. `key` is a key or a shell variable that contains a key.
 */
export function curlLine(baseUrl: string, key: string): string {
  return `curl ${baseUrl}/open/global/config -H "Authorization: Bearer ${key}"`;
}
