import type { oas32, ZodOpenApiComponentsObject } from "zod-openapi";
import type { Endpoint } from "../http/endpoint.ts";

/** The headers of answers, by their names. Those marked as required come with every answer that names them. */
export const headers = {
  "X-Request-Id": {
    description: "Names the request; yours, if it sent a well-formed `X-Request-Id`.",
    required: true,
    schema: { type: "string", minLength: 1, maxLength: 128 },
    example: "0f8fad5b-d9cb-469f-a165-70867728950e",
  },
  ETag: {
    description: "The state of the resource, for `If-Match` and `If-None-Match`. Treat it as opaque.",
    required: true,
    schema: { type: "string", pattern: '^"[0-9]+\\.[A-Za-z0-9_-]{11}"$' },
    example: '"3.zrVRXp1Cf0g"',
  },
  Link: {
    description: 'The address of the next page, with `rel="next"`; not on the last one.',
    schema: { type: "string", pattern: '^<.+>; rel="next"$' },
    example: '<https://keys.example.com/open/workspaces?limit=25&cursor=WyJjcmVhdGVkQXQi>; rel="next"',
  },
  "Idempotent-Replayed": {
    description: "Whether this is the answer to an earlier request with the same `Idempotency-Key`.",
    schema: { type: "string", const: "true" },
    example: "true",
  },
  "WWW-Authenticate": {
    description: "How to authenticate.",
    required: true,
    schema: { type: "string", const: "Bearer" },
    example: "Bearer",
  },
  "Retry-After": {
    description: "Seconds after which to try again.",
    required: true,
    schema: { type: "integer", minimum: 1 },
    example: 1,
  },
  RateLimit: {
    description:
      "For a key with a limit: how many requests (`r`) are left, and in how many seconds (`t`) its window ends.",
    schema: { type: "string", pattern: '^"key";r=[0-9]+;t=[0-9]+$' },
    example: '"key";r=50;t=30',
  },
  "RateLimit-Policy": {
    description: "For a key with a limit: so many requests (`q`) in a window of so many seconds (`w`).",
    schema: { type: "string", pattern: '^"key";q=[0-9]+;w=[0-9]+$' },
    example: '"key";q=100;w=60',
  },
} as const satisfies ZodOpenApiComponentsObject["headers"];

/** The name of a header that an answer may have. */
export type HeaderName = keyof typeof headers;

/** The headers of an answer: `sometimes` are those that only some answers of its kind have, as all have a key's limit. */
export function describeHeaders(
  always: readonly HeaderName[],
  sometimes: readonly HeaderName[] = [],
): oas32.HeadersObject {
  return Object.fromEntries([
    ...(["X-Request-Id", ...always] as const).map((name) => [name, refer(name)]),
    ...([...sometimes, "RateLimit", "RateLimit-Policy"] as const).map((name) => [
      name,
      "required" in headers[name] ? { ...headers[name], required: false } : refer(name),
    ]),
  ]);
}

function refer(name: HeaderName): oas32.ReferenceObject {
  return { $ref: `#/components/headers/${name}` };
}

/** `*`, or entity tags with commas between them. */
const entityTags = '^\\s*(\\*|(W/)?"[^"]*"(\\s*,\\s*(W/)?"[^"]*")*)\\s*$';

/** Whether an endpoint evaluates `If-Match`. */
export function readsIfMatch(endpoint: Endpoint): boolean {
  return endpoint.request.ifMatch === true || readsIfNoneMatch(endpoint);
}

/** Whether an endpoint evaluates `If-None-Match`. */
export function readsIfNoneMatch({ method, response }: Endpoint): boolean {
  return method === "GET" && response.status !== 204 && response.hasEtag === true;
}

/** The headers of requests that several operations read. */
export const parameters = {
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description:
      "What you call this request: sent again under the same name, it is carried out once and answered alike. Kept apart for each user and path, for 24 hours. After a failure, or no answer, send it again under the same name.",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]+$" },
  },
  IfMatch: {
    name: "If-Match",
    in: "header",
    description:
      "The `ETag` that you last read, or several of them. If the resource has changed since, the request is rejected with 412. Leave it out, or send `*`, to go by no version.",
    schema: { type: "string", maxLength: 4_096, pattern: entityTags },
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    description:
      "The `ETag` that you last read, or several of them. If the resource has not changed since, the response is 304 without a body.",
    schema: { type: "string", maxLength: 4_096, pattern: entityTags },
  },
} as const satisfies ZodOpenApiComponentsObject["parameters"];
