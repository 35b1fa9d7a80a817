import type { z } from "zod";
import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject } from "zod-openapi";
import type { Deprecation } from "../http/deprecation.ts";
import type { Endpoint } from "../http/endpoint.ts";
import { describeErrors } from "./openapi-errors.ts";
import {
  describeHeaders,
  type HeaderName,
  type parameters,
  readsIfMatch,
  readsIfNoneMatch,
} from "./openapi-headers.ts";
import { tagOf } from "./openapi-tags.ts";

/** A path as OpenAPI writes it: `/workspaces/{workspaceId}`. */
export function toOpenApiPath(path: Endpoint["path"]): string {
  return path.replace(/:(\w+)/g, "{$1}");
}

/** The operation object of an endpoint. */
export function describeOperation(endpoint: Endpoint): ZodOpenApiOperationObject {
  const { method, access, request, response, deprecated } = endpoint;
  const { params, query, body } = request;
  const named: readonly (keyof typeof parameters)[] = [
    ...(method === "POST" ? [idempotencyParameterOf(endpoint)] : []),
    ...(readsIfMatch(endpoint) ? (["IfMatch"] as const) : []),
    ...(readsIfNoneMatch(endpoint) ? (["IfNoneMatch"] as const) : []),
  ];
  const permission = typeof access === "object" ? access.workspace : null;
  const requirement = permission
    ? `\`${permission}\``
    : requirementByAccess[access as Extract<Endpoint["access"], string>];
  const errors = describeErrors(endpoint).map(({ status, id }) => [
    String(status),
    { $ref: `#/components/responses/${id}` },
  ]);
  return {
    operationId: endpoint.operationId,
    tags: [tagOf(endpoint).name],
    summary: endpoint.summary,
    description: [
      endpoint.description,
      ...(deprecated ? [describeDeprecation(deprecated)] : []),
      `Requires ${requirement}.`,
    ].join("\n\n"),
    "x-permission": permission,
    ...(deprecated ? { deprecated: true } : {}),
    requestParams: { ...(params ? { path: params } : {}), ...(query ? { query } : {}) },
    parameters: named.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ...(body
      ? {
          requestBody: {
            required: isRequired(endpoint, body),
            content: { "application/json": { schema: body } },
          },
        }
      : {}),
    responses: {
      [`${response.status}` as const]: describeSuccess(endpoint),
      ...(readsIfNoneMatch(endpoint) ? { "304": notModified } : {}),
      ...Object.fromEntries(errors),
    },
  };
}

function idempotencyParameterOf({ verifies }: Endpoint): keyof typeof parameters {
  return verifies ? "IdempotencyKeyOfVerification" : "IdempotencyKey";
}

/** Whether a request needs a body. One without a body counts as an empty object, and an edit must change something. */
function isRequired({ method }: Endpoint, body: z.ZodType): boolean {
  return method !== "POST" || !body.safeParse({}).success;
}

const requirementByAccess = {
  key: "a valid key",
  "unrestricted-key": "a key that isn't restricted to workspaces, permissions or read-only access",
} as const;

const notModified: ZodOpenApiResponseObject = {
  description: "Not modified: `If-None-Match` names the current `ETag`. The request counts as a use.",
  headers: describeHeaders(["ETag"]),
};

function describeDeprecation({ sunset, link }: Deprecation): string {
  return `**Deprecated.** It may be removed on ${sunset.toISOString().slice(0, 10)}. [Use instead](${link}).`;
}

/** Components are included only if something refers to them: an unused component is an error. */
const deprecationHeaders: ZodOpenApiResponseObject["headers"] = {
  Deprecation: {
    description: "When the endpoint was deprecated, in seconds since 1970 (RFC 9745).",
    required: true,
    schema: { type: "string", pattern: "^@[0-9]+$", maxLength: 13 },
    example: "@1767225600",
  },
  Sunset: {
    description: "When the endpoint may be removed (RFC 8594).",
    required: true,
    schema: { type: "string", maxLength: 29 },
    example: "Thu, 01 Jul 2027 00:00:00 GMT",
  },
  Link: {
    description: 'The page that explains what to use instead, with `rel="deprecation"`.',
    required: true,
    schema: { type: "string", maxLength: 4_096 },
    example: '<https://keys.example.com/docs>; rel="deprecation"; type="text/html"',
  },
};

function describeSuccess(endpoint: Endpoint): ZodOpenApiResponseObject {
  const success = describeAnswer(endpoint);
  return endpoint.deprecated
    ? { ...success, headers: { ...success.headers, ...deprecationHeaders } }
    : success;
}

function describeAnswer({ method, response, verifies }: Endpoint): ZodOpenApiResponseObject {
  // A repeated request verifies the keys again.
  const replayed: readonly HeaderName[] = method === "POST" && !verifies ? ["Idempotent-Replayed"] : [];
  if (response.status === 204) return { description: "No content.", headers: describeHeaders([], replayed) };
  if (!response.schema) {
    return {
      description: "The file. A connection that closes early means that the file is incomplete.",
      headers: describeHeaders(["Content-Disposition"]),
      content: Object.fromEntries(
        Object.entries(response.file).map(([type, example]) => [
          type,
          { schema: { type: "string" }, example } as const,
        ]),
      ),
    };
  }
  const { description, schema, hasEtag } = response;
  const optionalHeaders: readonly HeaderName[] =
    "nextCursor" in schema.shape ? ["Link", ...replayed] : replayed;
  return {
    description,
    headers: describeHeaders(hasEtag ? ["ETag"] : [], optionalHeaders),
    content: { "application/json": { schema } },
  };
}
