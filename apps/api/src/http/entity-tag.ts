import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { AppError } from "@latchkey/errors";

/** A response body whose resource has versions. */
type Versioned = Readonly<Record<string, unknown>>;

/**
 * The entity tag of a resource, `"<version>.<hash>"`. The version decides `If-Match`. The hash covers what the version
 * does not, such as the caller's role in a workspace, so that `If-None-Match` never hides a change
 * (docs/decisions/0020-what-an-etag-covers.md).
 * @param uncovered members, at any depth, whose changes don't change the tag.
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-etag
 */
export function etagOf(answer: Versioned, uncovered: readonly string[] = []): string {
  const text = JSON.stringify(answer, (name, value) => (uncovered.includes(name) ? undefined : value));
  return `"${answer.version}.${hash("sha256", text, "base64url").slice(0, 11)}"`;
}

const listForm = /^\s*(?:W\/)?"[^"]*"(?:\s*,\s*(?:W\/)?"[^"]*")*\s*$/;

/**
 * The versions that a request's `If-Match` allows: undefined for any, none where it names no version of ours, since a
 * weak tag or one from elsewhere matches nothing. A version between quotes is a tag too.
 *
 * @throws {AppError} BAD_REQUEST when it is neither `*` nor a list of entity tags.
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-if-match
 */
export function readIfMatch(req: IncomingMessage): readonly number[] | undefined {
  const value = req.headers["if-match"];
  if (value === undefined || value.trim() === "*") return undefined;
  requireList("If-Match", value);
  return Array.from(value.matchAll(/(W\/)?"([1-9]\d{0,8})(?:\.[\w-]{11})?"/g))
    .filter(([, weak]) => weak === undefined)
    .map(([, , version]) => Number(version));
}

/**
 * Whether a request's `If-None-Match` names this tag, compared weakly: the client has the resource already.
 *
 * @throws {AppError} BAD_REQUEST when it is neither `*` nor a list of entity tags.
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-if-none-match
 */
export function isKnownToClient(req: IncomingMessage, etag: string): boolean {
  const value = req.headers["if-none-match"];
  if (value === undefined) return false;
  if (value.trim() === "*") return true;
  requireList("If-None-Match", value);
  return Array.from(value.matchAll(/"[^"]*"/g)).some(([tag]) => tag === etag);
}

function requireList(path: string, value: string): void {
  if (listForm.test(value)) return;
  const message = 'must be * or a list of ETags such as "3"';
  throw new AppError("BAD_REQUEST", { issues: [{ path, code: "invalid_format", message }] });
}
