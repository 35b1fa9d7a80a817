import type { AdmissionOptions } from "./options.ts";

/**
 * Wraps a reporter of failures. One that throws must not keep requests from being answered, so its error becomes a process
 * warning.
 */
export function createFailureReporter(
  onFailure: AdmissionOptions["onFailure"],
): (error: unknown, isHealthCheck: boolean) => void {
  return (error, isHealthCheck) => {
    try {
      onFailure?.(error, isHealthCheck);
    } catch (thrown) {
      process.emitWarning(thrown instanceof Error ? thrown : String(thrown));
    }
  };
}
