import { AppError, type ErrorCode, errorCatalogue } from "@latchkey/errors";
import { z } from "zod";
import {
  type CreateDocumentOptions,
  createDocument,
  type ZodOpenApiObject,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
} from "zod-openapi";
import type { Instance } from "../domain/instance.ts";
import type { Endpoint } from "../http/endpoint.ts";

const error = z
  .object({
    error: z.object({
      code: z.enum(Object.keys(errorCatalogue) as [ErrorCode, ...ErrorCode[]]), // The catalogue's keys are the codes.
      message: z.string(),
      requestId: z
        .string()
        .meta({ description: "The answer's `X-Request-Id`; quote it when asking for help." }),
      issues: z
        .array(z.object({ path: z.string(), message: z.string() }))
        .optional()
        .meta({ description: "What is wrong with the request, a member each; with `BAD_REQUEST` only." }),
    }),
  })
  .meta({ id: "Error" });

/** What any request under `/open` may be answered with. */
const everywhere: readonly ErrorCode[] = [
  "UNAUTHORIZED",
  "FORBIDDEN",
  "BAD_REQUEST",
  "PAYLOAD_TOO_LARGE",
  "INTERNAL_SERVER_ERROR",
  "SERVICE_UNAVAILABLE",
];

/** The OpenAPI 3.1 document of the endpoints: what they declare, and nothing that they do not. */
export function createOpenApiDocument(
  endpoints: readonly Endpoint[],
  instance: Pick<Instance, "baseUrl" | "version">,
): object {
  const paths: ZodOpenApiPathsObject = {};
  for (const endpoint of endpoints) {
    const path = endpoint.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: describeOperation(endpoint) };
  }
  const document: ZodOpenApiObject = {
    openapi: "3.1.0",
    info: {
      title: "Latchkey open API",
      version: instance.version,
      description:
        "Call it with an API key that you made in the web app. A key has the permissions of the person who made it, as they are at the moment of the request.",
    },
    servers: [{ url: `${instance.baseUrl}/open` }],
    security: [{ apiKey: [] }],
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: "An API key, such as `lk_…`." },
      },
    },
  };
  return createDocument(document, { override: leaveAnswersOpen });
}

/** Answers may gain members, so that none of their objects is closed; requests stay as strict as they are. */
const leaveAnswersOpen: NonNullable<CreateDocumentOptions["override"]> = ({ jsonSchema, io }) => {
  if (io === "output") delete jsonSchema.additionalProperties;
};

const headers = {
  requestId: {
    description: "Names the request; yours, if it sent a well-formed `X-Request-Id`.",
    schema: { type: "string" },
  },
  link: { description: 'The address of the next page, with `rel="next"`.', schema: { type: "string" } },
  authenticate: { description: "`Bearer`.", schema: { type: "string" } },
  retryAfter: { description: "Seconds after which to try again.", schema: { type: "integer" } },
} as const;

function describeOperation(endpoint: Endpoint): ZodOpenApiOperationObject {
  const { params, query, body } = endpoint.request;
  const statuses = new Map(
    [...everywhere, ...endpoint.errors].map((code) => [new AppError(code).status, code]),
  );
  return {
    operationId: endpoint.operationId,
    summary: endpoint.summary,
    description: endpoint.description,
    requestParams: { ...(params ? { path: params } : {}), ...(query ? { query } : {}) },
    ...(body ? { requestBody: { content: { "application/json": { schema: body } } } } : {}),
    responses: {
      [String(endpoint.response.status)]: {
        description: endpoint.summary,
        headers: {
          "X-Request-Id": headers.requestId,
          ...("nextCursor" in (endpoint.response.schema?.shape ?? {}) ? { Link: headers.link } : {}),
        },
        content: { "application/json": { schema: endpoint.response.schema } },
      },
      ...Object.fromEntries([...statuses].map(([status, code]) => [String(status), describeError(code)])),
    },
  } as ZodOpenApiOperationObject; // Its keys are statuses as text, which `fromEntries` cannot know.
}

function describeError(code: ErrorCode) {
  const { message } = errorCatalogue[code];
  const example = { error: { code, message, requestId: "0f8fad5b-d9cb-469f-a165-70867728950e" } };
  return {
    description: message,
    headers: {
      "X-Request-Id": headers.requestId,
      ...(code === "UNAUTHORIZED" ? { "WWW-Authenticate": headers.authenticate } : {}),
      ...(code === "SERVICE_UNAVAILABLE" ? { "Retry-After": headers.retryAfter } : {}),
    },
    content: { "application/json": { schema: error, example } },
  };
}
