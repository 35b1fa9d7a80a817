/** A file can't be read; the message says why, in words for people. */
export class KeyFileError extends Error {
  override readonly name = "KeyFileError";
}
