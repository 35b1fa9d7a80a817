import { maxLength } from "@latchkey/limits";
import type { oas32, ZodOpenApiComponentsObject } from "zod-openapi";
import type { Endpoint } from "../http/endpoint.ts";

/** The response headers by name. Required headers are present in every response that declares them. */
export const headers = {
  "X-Request-Id": {
    description:
      "ID of the request: the request's own `X-Request-Id` if it is well-formed, otherwise a generated ID.",
    required: true,
    schema: { type: "string", minLength: 1, maxLength: maxLength.requestId },
    example: "0f8fad5b-d9cb-469f-a165-70867728950e",
  },
  ETag: {
    description:
      "Identifies the content of the resource, except for its `usageCount` and `lastUsedAt`. `If-Match` compares only the `version`, which is part of the `ETag`; `If-None-Match` compares the whole `ETag`.",
    required: true,
    schema: { type: "string", pattern: '^"[0-9]{1,10}\\.[A-Za-z0-9_-]{11}"$', maxLength: 24 },
    example: '"3.zrVRXp1Cf0g"',
  },
  Link: {
    description: 'The URL of the next page, with `rel="next"`; absent on the last page.',
    schema: { type: "string", pattern: '^<.+>; rel="next"$', maxLength: 4_096 },
    example: '<https://keys.example.com/open/workspaces?limit=25&cursor=WyJjcmVhdGVkQXQi>; rel="next"',
  },
  "Content-Disposition": {
    description: "The name of the file.",
    required: true,
    schema: { type: "string", pattern: '^attachment; filename="[^"]+"$', maxLength: 100 },
    example: 'attachment; filename="audit-log-2026-03-01.csv"',
  },
  "Idempotent-Replayed": {
    description:
      "Present if an earlier request with the same `Idempotency-Key` was carried out, so this request wasn't carried out again.",
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
    description: "Seconds to wait before you retry.",
    required: true,
    schema: { type: "integer", minimum: 1 },
    example: 1,
  },
  RateLimit: {
    description:
      "For a key with a rate limit: remaining requests (`r`) and seconds until the window resets (`t`).",
    schema: { type: "string", pattern: '^"key";r=[0-9]{1,10};t=[0-9]{1,5}$', maxLength: 26 },
    example: '"key";r=50;t=30',
  },
  "RateLimit-Policy": {
    description: "For a key with a rate limit: the quota (`q`) and the window in seconds (`w`).",
    schema: { type: "string", pattern: '^"key";q=[0-9]{1,10};w=[0-9]{1,5}$', maxLength: 26 },
    example: '"key";q=100;w=60',
  },
} as const satisfies ZodOpenApiComponentsObject["headers"];

/** The name of a response header. */
export type HeaderName = keyof typeof headers;

/**
 * The headers of a response. `sometimes` lists headers that only some responses of the kind have, such as those of
 * a key's rate limit.
 */
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

/** `*`, or entity tags separated by commas. */
const entityTags = '^\\s*(\\*|(W/)?"[^"]*"(\\s*,\\s*(W/)?"[^"]*")*)\\s*$';

/** Whether an endpoint evaluates `If-Match`. */
export function readsIfMatch(endpoint: Endpoint): boolean {
  return endpoint.request.ifMatch === true || readsIfNoneMatch(endpoint);
}

/** Whether an endpoint evaluates `If-None-Match`. */
export function readsIfNoneMatch({ method, response }: Endpoint): boolean {
  return method === "GET" && response.schema !== undefined && response.hasEtag === true;
}

/** The request headers that several operations read. */
export const parameters = {
  IdempotencyKey: {
    name: "Idempotency-Key",
    in: "header",
    description:
      "Makes retries safe: requests with the same `Idempotency-Key` are carried out once and get the same response. It is scoped to the user and the path, and expires after 24 hours. After an error or a lost response, send the request again with the same `Idempotency-Key`.",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]+$" },
  },
  IdempotencyKeyOfVerification: {
    name: "Idempotency-Key",
    in: "header",
    description:
      "Makes retries safe: a request with the same `Idempotency-Key` and the same body verifies the keys as they are now, and spends only what the earlier requests haven't spent. What was spent is recorded by the position of the verification in the request. It is scoped to the user and the path, and expires after an hour.",
    schema: { type: "string", minLength: 1, maxLength: 255, pattern: "^[!-~]+$" },
  },
  IfMatch: {
    name: "If-Match",
    in: "header",
    description:
      "One or more `ETag` values. If none of them has the current `version` of the resource, the request is rejected with 412. Omit the header or send `*` to skip the check.",
    schema: { type: "string", maxLength: 4_096, pattern: entityTags },
  },
  IfNoneMatch: {
    name: "If-None-Match",
    in: "header",
    description:
      "One or more `ETag` values. If one of them is the current `ETag` of the resource, the response is 304 without a body. Omit the header to read `usageCount` and `lastUsedAt`, which don't change the `ETag`.",
    schema: { type: "string", maxLength: 4_096, pattern: entityTags },
  },
} as const satisfies ZodOpenApiComponentsObject["parameters"];
