/** Reads a query string as plain text: `?q=123` is the text "123", not a number or JSON. */
export function parseQuery(query: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(query));
}

/** Writes a query string without absent and empty parameters. */
export function stringifyQuery(search: Record<string, unknown>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (value !== undefined && value !== "") parameters.set(name, String(value));
  }
  const query = parameters.toString();
  return query && `?${query}`;
}
