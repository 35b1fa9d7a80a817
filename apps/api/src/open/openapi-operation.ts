import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject } from "zod-openapi";
import type { Endpoint } from "../http/endpoint.ts";
import { describeErrors } from "./openapi-errors.ts";
import { describeHeaders, type HeaderName, type parameters } from "./openapi-headers.ts";
import { tagOf } from "./openapi-tags.ts";

/** A path as OpenAPI writes it: `/workspaces/{workspaceId}`. */
export function toOpenApiPath(path: Endpoint["path"]): string {
  return path.replace(/:(\w+)/g, "{$1}");
}

/** What a caller needs to know of an endpoint. */
export function describeOperation(endpoint: Endpoint): ZodOpenApiOperationObject {
  const { method, access, request, response } = endpoint;
  const { params, query, body, ifMatch } = request;
  const named: readonly (keyof typeof parameters)[] = [
    ...(method === "POST" ? (["IdempotencyKey"] as const) : []),
    ...(ifMatch ? (["IfMatch"] as const) : []),
  ];
  const permission = typeof access === "object" ? access.workspace : null;
  const needs = permission
    ? `\`${permission}\``
    : needsByAccess[access as Extract<Endpoint["access"], string>];
  const errors = describeErrors(endpoint).map(({ status, id }) => [
    String(status),
    { $ref: `#/components/responses/${id}` },
  ]);
  return {
    operationId: endpoint.operationId,
    tags: [tagOf(endpoint).name],
    summary: endpoint.summary,
    description: `${endpoint.description}\n\nNeeds ${needs}.`,
    "x-permission": permission,
    requestParams: { ...(params ? { path: params } : {}), ...(query ? { query } : {}) },
    parameters: named.map((name) => ({ $ref: `#/components/parameters/${name}` })),
    ...(body ? { requestBody: { required: true, content: { "application/json": { schema: body } } } } : {}),
    responses: { [`${response.status}` as const]: describeSuccess(endpoint), ...Object.fromEntries(errors) },
  };
}

const needsByAccess = {
  key: "a good key and nothing more",
  "unnarrowed-key": "a key that is held to no workspaces and permissions",
} as const;

const successes = { 200: "Here it is.", 201: "Created.", 204: "Done; there is nothing to tell." } as const;

function describeSuccess({ method, response }: Endpoint): ZodOpenApiResponseObject {
  const description = successes[response.status];
  const replayed: readonly HeaderName[] = method === "POST" ? ["Idempotent-Replayed"] : [];
  if (response.status === 204) return { description, headers: describeHeaders([], replayed) };
  const { schema, hasEtag } = response;
  const sometimes: readonly HeaderName[] = "nextCursor" in schema.shape ? ["Link", ...replayed] : replayed;
  return {
    description,
    headers: describeHeaders(hasEtag ? ["ETag"] : [], sometimes),
    content: { "application/json": { schema } },
  };
}
