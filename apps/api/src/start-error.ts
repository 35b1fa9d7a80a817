/** Latchkey can't start, for a reason that the operator can fix. The message is one or more sentences. */
export class StartError extends Error {
  override readonly name = "StartError";
}

/** There is no Latchkey database, and this process may not create one. */
export class NoInstanceError extends StartError {}
