import { databaseFailure } from "@latchkey/db/database-failure";
import { AppError, toAppError } from "@latchkey/errors";

/** Anything thrown as an `AppError`: as it is, as the database's failure, or as a bug. */
export function translateFailure(thrown: unknown): AppError {
  return thrown instanceof AppError ? thrown : (databaseFailure(thrown) ?? toAppError(thrown));
}
