/**
 * A shell command that verifies an issued key. `key` is the key, or a placeholder to replace: the shell expands no variable in the
 * body, which is in single quotes.
 */
export function verifyCommand(baseUrl: string, key: string): string {
  const body = `'${JSON.stringify({ key })}'`;
  return `curl ${baseUrl}/open/keys/verify -H "Authorization: Bearer $API_KEY" -H "Content-Type: application/json" -d ${body}`;
}
