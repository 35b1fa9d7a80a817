const bearerPattern = /^bearer ([A-Za-z0-9._~+/-]+=*)$/i;

/**
 * Returns the API key of the `Authorization` header: the scheme `Bearer` in any letter case, one space, and a token.
 * Returns undefined for any other value, and if the header occurs more than once. Reads the raw headers, because Node's
 * `headers` keeps the first of two `Authorization` headers and silently drops the second.
 * @see https://www.rfc-editor.org/rfc/rfc6750#section-2.1
 */
export function readBearerToken(rawHeaders: readonly string[]): string | undefined {
  let value: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length !== 13 || name.toLowerCase() !== "authorization") continue;
    if (value !== undefined) return undefined;
    value = rawHeaders[index + 1];
  }
  return value === undefined ? undefined : bearerPattern.exec(value)?.[1];
}
