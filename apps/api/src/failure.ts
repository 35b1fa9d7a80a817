import { databaseFailure } from "@latchkey/db/database-failure";
import { AppError, toAppError } from "@latchkey/errors";

/** Converts anything thrown to an `AppError`: a known database failure to its error, anything unknown to a bug. */
export function translateFailure(thrown: unknown): AppError {
  return thrown instanceof AppError ? thrown : (databaseFailure(thrown) ?? toAppError(thrown));
}
