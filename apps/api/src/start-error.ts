/** Latchkey cannot start, for a reason that whoever starts it can mend; the message is one clear sentence. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/** There is no Latchkey database, and this process may not create one. */
export class NoInstanceError extends StartError {}
