import { databaseFailure } from "@latchkey/db/database-failure";
import { AppError, type Issue, toAppError } from "@latchkey/errors";
import type { z } from "zod";

/** Anything thrown as an `AppError`: as it is, as the database's failure, or as a bug. */
export function translateFailure(thrown: unknown): AppError {
  return thrown instanceof AppError ? thrown : (databaseFailure(thrown) ?? toAppError(thrown));
}

/** One issue a member: an object with two unknown members has two issues, each with its own path. */
export function toIssues(issue: z.core.$ZodIssue): Issue[] {
  const path = issue.path.map(String);
  if (issue.code !== "unrecognized_keys") return [{ path: path.join("."), message: issue.message }];
  return issue.keys.map((key) => ({ path: [...path, key].join("."), message: "Unknown member" }));
}
