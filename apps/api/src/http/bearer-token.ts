const form = /^bearer ([A-Za-z0-9._~+/-]+=*)$/i;

/**
 * The API key of an `Authorization` header: the scheme `Bearer` in any letter case, one space, a token, nothing
 * else, the header once. Undefined for everything else. Reads the raw list, because Node's `headers` keeps the
 * first of two `Authorization` headers and says nothing of the second.
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
  return value === undefined ? undefined : form.exec(value)?.[1];
}
