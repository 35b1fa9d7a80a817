import { AppError } from "@latchkey/errors";
import type { z } from "zod";
import { toIssues } from "../issues.ts";

/** @throws {AppError} BAD_REQUEST that names each option that is off. */
export function parseOptions<Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> {
  const { success, data, error } = schema.safeParse(value);
  if (!success) throw new AppError("BAD_REQUEST", { issues: toIssues(error, value) });
  return data;
}
