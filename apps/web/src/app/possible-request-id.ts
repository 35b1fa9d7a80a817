const requestIdFormat = /^[A-Za-z0-9._~+/=-]{4,128}$/;
/** The IDs of keys, workspaces and users. */
const resourceIdFormat = /^[a-z]+_[0-9a-z]{26}$/;

/** Whether a text can be a request ID. A text without a digit is treated as a search term. */
export function isPossibleRequestId(text: string): boolean {
  return requestIdFormat.test(text) && /\d/.test(text) && !resourceIdFormat.test(text);
}
