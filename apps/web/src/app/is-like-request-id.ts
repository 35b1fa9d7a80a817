const requestIdFormat = /^[A-Za-z0-9._~+/=-]{4,128}$/;

/** Whether a text may be the id of a request, rather than a word to search for. */
export function isLikeRequestId(text: string): boolean {
  return requestIdFormat.test(text) && /\d/.test(text);
}
