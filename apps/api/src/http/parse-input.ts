import { AppError, type Issue } from "@latchkey/errors";
import { z } from "zod";
import { describeInput, toIssues } from "../issues.ts";

/** Each schema is a strict object, so that unknown fields are rejected. */
export interface RequestParts {
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  /** Whether the endpoint evaluates `If-Match`. */
  readonly ifMatch?: boolean;
}

export interface RawInput {
  readonly params: unknown;
  readonly query: object;
  /** Undefined if the endpoint takes no body and none was sent. */
  readonly body: object | undefined;
}

const emptyObject = z.strictObject({});

/**
 * Parses each part of a request by its schema. A part without a schema must be empty.
 * @throws {AppError} BAD_REQUEST with every issue of every part.
 */
export function parseInput(schemas: RequestParts, raw: RawInput): Record<string, unknown> {
  const hasSchema = schemas.params || schemas.query || schemas.body;
  if (!hasSchema && raw.body === undefined && isEmpty(raw.query)) return {};
  const issues: Issue[] = [];
  const parse = (schema: z.ZodType, value: unknown): unknown => {
    const { data, error } = schema.safeParse(value, { error: describeInput });
    if (error) issues.push(...toIssues(error, value));
    return data;
  };
  const input = {
    params: schemas.params && parse(schemas.params, raw.params),
    query: parse(schemas.query ?? emptyObject, raw.query),
    body: schemas.body || raw.body ? parse(schemas.body ?? emptyObject, raw.body) : undefined,
  };
  if (issues.length > 0) throw new AppError("BAD_REQUEST", { issues });
  return input;
}

/** Whether a query has no parameters. */
export function isEmpty(query: object): boolean {
  for (const _name in query) return false;
  return true;
}
