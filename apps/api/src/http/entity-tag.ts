import { hash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { AppError } from "@latchkey/errors";

/** A response body whose resource has versions. */
type Versioned = Readonly<Record<string, unknown>>;

/** What the entity tag of a response doesn't cover. */
interface Uncovered {
  /** Fields, at any depth, whose changes don't change the tag. */
  readonly fields?: readonly string[] | undefined;
  /** The field of the response with its secret, which isn't part of the resource. */
  readonly secret?: string | undefined;
}

/**
 * The entity tag of a resource, `"<version>.<hash>"`. The version decides `If-Match`. The hash covers what the version
 * does not, such as the caller's role in a workspace, so that `If-None-Match` never hides a change
 * (docs/decisions/0020-contents-of-an-etag.md). Undefined for a response without a version: the replay of a rotation
 * that an earlier version of Latchkey recorded.
 * @see https://www.rfc-editor.org/rfc/rfc9110#name-etag
 */
export function etagOf(answer: Versioned, { fields = [], secret }: Uncovered = {}): string | undefined {
  if (answer.version === undefined) return undefined;
  const resource =
    secret === undefined ? answer : { ...answer, [secret]: undefined, secretStatus: undefined };
  const text = JSON.stringify(resource, (name, value) => (fields.includes(name) ? undefined : value));
  return `"${answer.version}.${hash("sha256", text, "base64url").slice(0, 11)}"`;
}

const listPattern = /^\s*(?:W\/)?"[^"]*"(?:\s*,\s*(?:W\/)?"[^"]*")*\s*$/;

/**
 * Returns the versions that a request's `If-Match` allows; undefined if it allows any. Weak tags and tags in another
 * format match nothing. A version in quotes, such as `"3"`, is a tag too.
 *
 * @throws {AppError} BAD_REQUEST if it is neither `*` nor a list of entity tags.
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
 * Whether a request's `If-None-Match` contains this tag (weak comparison), because the client already has the resource.
 *
 * @throws {AppError} BAD_REQUEST if it is neither `*` nor a list of entity tags.
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
  if (listPattern.test(value)) return;
  const message = 'must be * or a list of ETags such as "3"';
  throw new AppError("BAD_REQUEST", { issues: [{ path, code: "invalid_format", message }] });
}
