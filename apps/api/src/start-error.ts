/** Latchkey cannot start, for a reason that whoever starts it can mend; the message is one clear sentence. */
export class StartError extends Error {
  override readonly name = "StartError";
}
