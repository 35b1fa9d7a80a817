/** The command line isn't valid: the command changes nothing, prints the message, and exits with status 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
