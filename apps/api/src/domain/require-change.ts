import { AppError } from "@latchkey/errors";

/**
 * Rejects an edit without any changes.
 * @throws {AppError} BAD_REQUEST
 */
export function requireChange(fields: object): void {
  if (Object.values(fields).some((value) => value !== undefined)) return;
  const message = "Send at least one field to change.";
  throw new AppError("BAD_REQUEST", { message, issues: [{ path: "", code: "no_changes", message }] });
}
