const requestIdFormat = /^[A-Za-z0-9._~+/=-]{4,128}$/;
/** The ids of keys, workspaces and users. */
const ownId = /^[a-z]+_[0-9a-z]{26}$/;

/** Whether a text may be the id of a request, rather than a word to search for. */
export function isLikeRequestId(text: string): boolean {
  return requestIdFormat.test(text) && /\d/.test(text) && !ownId.test(text);
}
