/**
 * Wraps a reporter of failures. One that throws must not keep requests from being answered, so its error becomes a process
 * warning.
 */
export function createFailureReporter(
  onFailure: ((error: unknown) => void) | undefined,
): (error: unknown) => void {
  return (error) => {
    try {
      onFailure?.(error);
    } catch (thrown) {
      process.emitWarning(thrown instanceof Error ? thrown : String(thrown));
    }
  };
}
