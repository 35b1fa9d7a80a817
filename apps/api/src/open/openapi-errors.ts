import { type ErrorCode, errorCatalog, type Issue } from "@latchkey/errors";
import type { ZodOpenApiResponseObject } from "zod-openapi";
import type { Endpoint } from "../http/endpoint.ts";
import { maxOpenExports } from "../http/open-exports.ts";
import { errorSchema } from "./openapi-error-schema.ts";
import { describeHeaders, type HeaderName, readsIfMatch } from "./openapi-headers.ts";

/** One way to fail. Several can have the same status, and some the same code. */
interface Failure {
  /** A unique name, in PascalCase. */
  readonly name: string;
  readonly code: ErrorCode;
  /** The condition, in Markdown. */
  readonly description: string;
  readonly message?: string;
  readonly headers?: readonly HeaderName[];
  readonly issues?: readonly Issue[];
}

/** The errors of any request under `/open`. */
const commonErrors: readonly ErrorCode[] = [
  "BAD_REQUEST",
  "UNAUTHORIZED",
  "FORBIDDEN",
  "REQUEST_TIMEOUT",
  "PAYLOAD_TOO_LARGE",
  "UNSUPPORTED_MEDIA_TYPE",
  "TOO_MANY_REQUESTS",
  "REQUEST_HEADER_FIELDS_TOO_LARGE",
  "INTERNAL_SERVER_ERROR",
  "SERVICE_UNAVAILABLE",
];

/** The condition of each code, and its additional headers. */
const failures: Readonly<Record<ErrorCode, Partial<Failure> & Pick<Failure, "description">>> = {
  BAD_REQUEST: {
    description:
      "The request isn't valid. If specific fields, parameters or headers are invalid, `issues` lists them.",
    issues: [{ path: "limit", code: "too_large", message: "must be at most 100" }],
  },
  UNAUTHORIZED: {
    description:
      "The request has no `Authorization: Bearer <API_KEY>` header, or the header has another format.",
    headers: ["WWW-Authenticate"],
  },
  FORBIDDEN: {
    description:
      "The key is unknown, disabled, expired or revoked; its restrictions don't allow the request; or its owner lacks the permission or isn't a member of the workspace. The response doesn't say which, but the owner of the key can look up the reason in the web app by the request ID. If the workspace is disabled and the key would otherwise be allowed, `issues` has the issue `workspace_disabled`.",
  },
  NOT_FOUND: { description: "The workspace has no resource with this ID, or the path is unknown." },
  METHOD_NOT_SUPPORTED: {
    description: "The path doesn't support this method. `Allow` lists those that it supports.",
  },
  REQUEST_TIMEOUT: {
    description: "The request took longer than 30 seconds to arrive, or its headers longer than 10.",
  },
  CONFLICT: {
    description:
      "The current state doesn't allow the change, and `message` gives the reason; or, with `Retry-After`, a request with the same `Idempotency-Key` is still in progress.",
  },
  PRECONDITION_FAILED: {
    description:
      "The resource has changed since you read the `ETag` in `If-Match`. Read it again, then repeat the change.",
  },
  PAYLOAD_TOO_LARGE: { description: "The body is larger than 100 KiB, before or after decompression." },
  UNSUPPORTED_MEDIA_TYPE: {
    description:
      "The body isn't `application/json` in UTF-8, or its `Content-Encoding` isn't `gzip`, `deflate` or `br`.",
  },
  UNPROCESSABLE_CONTENT: {
    issues: [
      {
        path: "",
        code: "quota_exceeded",
        message:
          "The quota for keyspaces per workspace (100) is reached. Delete a keyspace that is no longer used, or ask the operator to raise MAX_KEYSPACES_PER_WORKSPACE.",
      },
    ],
    description:
      "The request is well-formed but can't be carried out: it would exceed a quota, or the current state doesn't allow the change. `issues` has the reason, if there is a specific one, with an empty `path` for a quota.",
  },
  REQUEST_HEADER_FIELDS_TOO_LARGE: { description: "The request's headers are larger than 16 KiB in total." },
  TOO_MANY_REQUESTS: {
    description:
      "The key has exceeded its rate limit. The request was neither carried out nor counted as a use.",
    headers: ["Retry-After"],
  },
  INTERNAL_SERVER_ERROR: {
    description: "An unexpected error. The server's log has the details under `requestId`.",
  },
  SERVICE_UNAVAILABLE: {
    description:
      "The database isn't available, or the server is overloaded. A `PUT`, `PATCH` or `DELETE`, or a `POST` with an `Idempotency-Key`, may have been carried out, and can safely be sent again. The exception is a `PATCH` that sets `credits`: repeated, it gives back what was spent since, so send it with `If-Match`. A `POST` without an `Idempotency-Key` is rolled back if its work isn't finished at the deadline, so it has changed something only if its commit was already in flight; a verification may still have been counted.",
    headers: ["Retry-After"],
  },
};

/** The meaning of codes for endpoints on API keys, which don't belong to a workspace. */
const keyFailures: Partial<Record<ErrorCode, Partial<Failure>>> = {
  FORBIDDEN: {
    name: "KeyForbidden",
    description:
      "The request's key isn't valid; or it is a restricted key, which can manage only itself; or the request has an old secret, which can only revoke old secrets and retry the rotation that replaced it; or the key in the path belongs to another user or never existed. The response doesn't say which.",
  },
  NOT_FOUND: { name: "KeyDeleted", description: "The key belonged to the same user and has been deleted." },
};

/** The meaning of codes for `revokeCurrentApiKey`, which accepts an old secret, and whose path names no key. */
const currentKeyFailures: typeof keyFailures = {
  ...keyFailures,
  FORBIDDEN: {
    name: "CurrentKeyForbidden",
    description:
      "The request's key is unknown, disabled, expired or already revoked, or its restrictions don't allow the request. The response doesn't say which.",
  },
};

const rateLimited =
  "The key has exceeded its rate limit, and the request was neither carried out nor counted as a use.";

const keyChangesLimited: Pick<Failure, "name" | "description"> = {
  name: "TooManyRequestsOrKeyChanges",
  description: `${rateLimited} Or there were too many changes to API keys of the same user or service account within an hour; \`message\` says so, and keys can still be disabled, revoked and deleted.`,
};

const issuedSecretsLimited: Pick<Failure, "name" | "description"> = {
  name: "TooManyRequestsOrIssuedSecrets",
  description: `${rateLimited} Or its owner has created, rotated or enabled too many issued keys within an hour; \`message\` says so, and keys can still be changed, disabled and deleted, and old secrets revoked.`,
};

const invitationsLimited: Pick<Failure, "name" | "description"> = {
  name: "TooManyRequestsOrInvitations",
  description: `${rateLimited} Or its owner has sent too many invitations within an hour; \`message\` says so. All service accounts of the workspaces of one owner count together.`,
};

const idempotencyKeysLimited: Pick<Failure, "name" | "description"> = {
  name: "TooManyRequestsOrIdempotencyKeys",
  description: `${rateLimited} Or it has used an \`Idempotency-Key\` for too many verifications within an hour; \`message\` says so, and requests without one are still possible.`,
};

const exportsLimited: Pick<Failure, "name" | "description"> = {
  name: "TooManyRequestsOrExports",
  description: `${rateLimited} Or ${maxOpenExports} exports of its owner are in progress; \`message\` says so.`,
};

/** The meaning of 429 for the endpoints that have a limit besides the rate limit of the key. */
const limitedOperations: Readonly<Record<string, Pick<Failure, "name" | "description">>> = {
  updateApiKey: keyChangesLimited,
  rotateApiKey: keyChangesLimited,
  createServiceAccountApiKey: keyChangesLimited,
  updateServiceAccountApiKey: keyChangesLimited,
  rotateServiceAccountApiKey: keyChangesLimited,
  createIssuedKey: issuedSecretsLimited,
  updateIssuedKey: issuedSecretsLimited,
  changeIssuedKeys: issuedSecretsLimited,
  rotateIssuedKey: issuedSecretsLimited,
  rotateIssuedKeys: issuedSecretsLimited,
  createInvitation: invitationsLimited,
  resendInvitation: invitationsLimited,
  verifyKey: idempotencyKeysLimited,
  verifyKeys: idempotencyKeysLimited,
  exportAuditEvents: exportsLimited,
};

/** The meaning of 409 for a change to a balance, the only one that names a field. */
const balanceConflict: Omit<Failure, "code"> = {
  name: "BalanceConflict",
  description:
    "The balance would become negative or too large, or the key has no credits to add to or subtract from. `issues` names the field, and `message` gives the reason.",
  message: "The balance is 100 and can’t become negative.",
  issues: [{ path: "subtract", code: "too_large", message: "The balance is 100 and can’t become negative." }],
};

/** The meaning of 422 for an edit of an API key. */
const expandsAccess: Omit<Failure, "code"> = {
  name: "ExpandsAccess",
  description:
    "The change would expand the key's access, which is possible only in the web app and with the command. `issues` names the fields that would expand it.",
  issues: [{ path: "isReadOnly", code: "expands_access", message: "would expand the key's access" }],
};

const requestInProgress: Failure = {
  name: "RequestInProgress",
  code: "CONFLICT",
  description: "An earlier request with this `Idempotency-Key` is still in progress.",
  message: "A request with this Idempotency-Key is still in progress",
  headers: ["Retry-After"],
};

const idempotencyKeyReused: Failure = {
  name: "IdempotencyKeyReused",
  code: "UNPROCESSABLE_CONTENT",
  description: "The `Idempotency-Key` was used for another request.",
  message: "This Idempotency-Key was used for another request",
};

const tooManyIdempotencyKeys: Failure = {
  name: "NewIdempotencyKeys",
  code: "TOO_MANY_REQUESTS",
  description:
    "The owner of the key has sent too many requests with a new `Idempotency-Key` within an hour; `message` says so, and requests without one are still possible. A request whose response is larger than 4 KiB counts as several.",
  message:
    "You have reached the limit of 100,000 requests with a new Idempotency-Key per hour. Try again later, or without an Idempotency-Key.",
  headers: ["Retry-After"],
};

/** The additional errors of a request with an `Idempotency-Key`. A verification waits for an earlier request to be decided. */
function listIdempotencyFailures({ method, verifies }: Endpoint): readonly Failure[] {
  if (method !== "POST") return [];
  if (verifies) return [idempotencyKeyReused];
  return [requestInProgress, idempotencyKeyReused, tooManyIdempotencyKeys];
}

/** An error response. `id` names its component: equal responses have the same `id`. */
interface ErrorResponse {
  readonly status: number;
  readonly id: string;
  readonly response: ZodOpenApiResponseObject;
}

/** The error responses of an endpoint by status. Failures with the same status share a response. */
export function describeErrors(endpoint: Endpoint): ErrorResponse[] {
  const { errors } = endpoint;
  const codes = new Set([
    ...commonErrors,
    ...errors,
    ...(readsIfMatch(endpoint) ? (["PRECONDITION_FAILED"] as const) : []),
  ]);
  const described = [...codes].map((code) => describeCode(code, endpoint));
  const all = [...described, ...listIdempotencyFailures(endpoint)];
  const byStatus = Map.groupBy(all, ({ code }) => errorCatalog[code].status);
  return [...byStatus]
    .toSorted(([one], [other]) => one - other)
    .map(([status, failuresOfStatus]) => ({
      status,
      id: failuresOfStatus.map(({ name }) => name).join("Or"),
      response: describeResponse(failuresOfStatus),
    }));
}

function describeCode(code: ErrorCode, { path, operationId }: Endpoint): Failure {
  const name = code.toLowerCase().replace(/(?:^|_)(\w)/g, (_match, letter: string) => letter.toUpperCase());
  const ofKey = operationId === "revokeCurrentApiKey" ? currentKeyFailures : keyFailures;
  const special = path.startsWith("/api-keys/") ? ofKey[code] : undefined;
  const limited = code === "TOO_MANY_REQUESTS" ? limitedOperations[operationId] : undefined;
  const conflict =
    code === "CONFLICT" && operationId === "changeIssuedKeyCredits" ? balanceConflict : undefined;
  const expansion =
    code === "UNPROCESSABLE_CONTENT" && operationId === "updateApiKey" ? expandsAccess : undefined;
  return { name, code, ...failures[code], ...special, ...limited, ...conflict, ...expansion };
}

/** The conditions of a code at any endpoint, in Markdown. */
export function describeFailure(code: ErrorCode): string {
  if (code === "UNPROCESSABLE_CONTENT")
    return `${failures[code].description} Or a change with \`PATCH\` would expand the access of an API key. Or the \`Idempotency-Key\` was used for another request, which \`message\` says.`;
  if (code !== "TOO_MANY_REQUESTS") return failures[code].description;
  return `${rateLimited} Or its owner has made too many changes to API keys, has created, rotated or enabled too many issued keys, has sent too many invitations, or has sent too many requests with a new \`Idempotency-Key\`, or the key has used an \`Idempotency-Key\` for too many verifications, within an hour. Or too many exports of its owner are in progress. \`message\` says which. \`Retry-After\` says how many seconds to wait.`;
}

function describeResponse(failuresOfStatus: readonly Failure[]): ZodOpenApiResponseObject {
  const has = (header: HeaderName) => (failure: Failure) => failure.headers?.includes(header) === true;
  const named = [...new Set(failuresOfStatus.flatMap((failure) => failure.headers ?? []))];
  const required = named.filter((header) => failuresOfStatus.every(has(header)));
  const optional = named.filter((header) => !required.includes(header));
  const examples = failuresOfStatus.map((failure) => [failure.name, exampleOf(failure)] as const);
  return {
    description: failuresOfStatus.map(({ code, description }) => `\`${code}\`: ${description}`).join("\n\n"),
    headers: describeHeaders(required, optional),
    content: { "application/json": { schema: errorSchema, examples: Object.fromEntries(examples) } },
  };
}

function exampleOf({ code, description, issues, message = errorCatalog[code].message }: Failure) {
  const requestId = "0f8fad5b-d9cb-469f-a165-70867728950e";
  const documentationUrl = `https://keys.example.com/docs/errors#${code}`;
  const value = { error: { code, message, requestId, documentationUrl, ...(issues ? { issues } : {}) } };
  return { summary: description, value };
}
