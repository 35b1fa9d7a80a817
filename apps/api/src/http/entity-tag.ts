import { AppError } from "@latchkey/errors";
import type { Context } from "koa";

/** A version as an entity tag. @see https://www.rfc-editor.org/rfc/rfc9110#name-etag */
export function etagOf(version: number): string {
  return `"${version}"`;
}

const listForm = /^\s*(?:W\/)?"[^"]*"(?:\s*,\s*(?:W\/)?"[^"]*")*\s*$/;

/**
 * The versions that a request's `If-Match` allows: undefined for any, none where it names no version of ours, since a
 * weak tag or one from elsewhere matches nothing.
 *
 * @throws {AppError} BAD_REQUEST when it is neither `*` nor a list of entity tags.
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-if-match
 */
export function readIfMatch(ctx: Context): readonly number[] | undefined {
  const value = ctx.req.headers["if-match"];
  if (value === undefined || value.trim() === "*") return undefined;
  if (!listForm.test(value)) {
    const message = 'must be * or a list of ETags such as "3"';
    throw new AppError("BAD_REQUEST", { issues: [{ path: "If-Match", code: "invalid_format", message }] });
  }
  return Array.from(value.matchAll(/(W\/)?"([1-9]\d{0,8})"/g))
    .filter(([, weak]) => weak === undefined)
    .map(([, , version]) => Number(version));
}
