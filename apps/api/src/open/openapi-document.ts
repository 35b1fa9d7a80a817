import {
  permissionCatalog,
  permissions,
  roleCatalog,
  roleHasPermission,
  roles,
} from "@latchkey/auth/permissions";
import { requestLimits } from "@latchkey/limits";
import {
  type CreateDocumentOptions,
  createDocument,
  type ZodOpenApiObject,
  type ZodOpenApiPathsObject,
} from "zod-openapi";
import type { PublicConfiguration } from "../domain/services.ts";
import type { Endpoint } from "../http/endpoint.ts";
import { maxQueryBytes, maxQueryParameters } from "../http/query.ts";
import { describeErrors } from "./openapi-errors.ts";
import { addExamples } from "./openapi-examples.ts";
import { headers, parameters } from "./openapi-headers.ts";
import { describeOperation, toOpenApiPath } from "./openapi-operation.ts";
import { tagOf } from "./openapi-tags.ts";

type Document = ReturnType<typeof createDocument>;

/**
 * The document of each list of endpoints, without what differs between instances. Creating it takes 0.2 s of processor time, and
 * apps in one process, as in tests, share their list.
 */
const documents = new WeakMap<readonly Endpoint[], Document>();

/**
 * Creates the OpenAPI 3.1 document from the declarations of the endpoints. Calls with the same list return documents that
 * share objects, so don't change them.
 */
export function createOpenApiDocument(
  endpoints: readonly Endpoint[],
  { baseUrl, version }: Pick<PublicConfiguration, "baseUrl" | "version">,
): object {
  const shared = documents.get(endpoints) ?? describeEndpoints(endpoints);
  documents.set(endpoints, shared);
  return { ...shared, info: { ...shared.info, version }, servers: [{ url: `${baseUrl}/open` }] };
}

function describeEndpoints(endpoints: readonly Endpoint[]): Document {
  const paths: ZodOpenApiPathsObject = {};
  for (const endpoint of endpoints) {
    const path = toOpenApiPath(endpoint.path);
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: describeOperation(endpoint) };
  }
  const errors = endpoints.flatMap(describeErrors).map(({ id, response }) => [id, response] as const);
  const tags = new Map(endpoints.map(tagOf).map((tag) => [tag.name, tag]));
  const document: ZodOpenApiObject = {
    openapi: "3.1.0",
    info: { title: "Latchkey open API", version: "", description: introduction },
    servers: [],
    security: [{ apiKey: [] }],
    tags: [...tags.values()],
    paths,
    components: {
      parameters,
      headers,
      responses: Object.fromEntries(errors.toSorted(([one], [other]) => (one < other ? -1 : 1))),
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: "An API key, which starts with `lk_`." },
      },
    },
  };
  return addExamples(createDocument(document, { override: allowUnknownMembers }));
}

/** Allows unknown fields in responses, because later versions may add some. Requests stay strict. */
const allowUnknownMembers: NonNullable<CreateDocumentOptions["override"]> = ({ jsonSchema, io }) => {
  if (io === "output" && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
};

const introduction = `Call the API with an API key from the web app, in the header \`Authorization: Bearer <key>\`. A key has the current permissions of its owner in all of the owner's workspaces, unless the key is restricted.

## Requests and responses

Requests and responses are JSON in UTF-8. Field names are in camelCase, IDs are TypeIDs such as \`ws_01h455vb4pex5vsknk084sn02q\`, and times are in ISO 8601 format, in UTC, ending in \`Z\`. A request with an unknown field or query parameter is rejected with 400, and one whose body is larger than ${requestLimits.maxBodyBytes / 1024} KiB with 413. Every response has an \`X-Request-Id\`: yours, if you sent one of 1 to 128 letters, digits and \`-._~+/=\`, otherwise a generated one. \`HEAD\` works wherever \`GET\` does, and is counted as a use too.

## Errors

Every error has the same shape: \`{ "error": { "code", "message", "requestId", "documentationUrl" } }\`, with \`issues\` if specific fields are invalid. In code, use \`code\` and \`issues[].code\`. Show \`message\` to people, and include \`requestId\` when you ask for help. [All codes are explained here](/docs/errors).

Without a valid key, every request gets 401 or 403. With one, an unknown path is 404 \`NOT_FOUND\`, and a method that a path doesn't support is 405 \`METHOD_NOT_SUPPORTED\`, with the supported ones in \`Allow\`. A workspace that the key has no access to, one that doesn't exist, and a malformed workspace ID get the same 403; all other malformed IDs get 400.

## Lists

Lists are paginated: \`{ "data", "nextCursor", "hasMore" }\`. Pass \`nextCursor\` as \`cursor\`, or follow the \`Link\` with \`rel="next"\`. A query string may have up to ${maxQueryParameters} parameters and ${maxQueryBytes.toLocaleString("en-US")} bytes.

## Retries

Send an \`Idempotency-Key\` of your choice with a POST to make retries safe: the request is executed only once. A retry gets the response to the first request, with \`Idempotent-Replayed: true\`; only a retried verification gets the current result. Secrets aren't repeated: \`secretStatus\` says whether the response has a new secret instead. Use a random key, such as a UUID.

## Concurrent changes

Send the \`ETag\` that you last read as \`If-Match\`. The change is rejected with 412 if the \`version\` of the resource has changed since then. To poll a resource, send the \`ETag\` as \`If-None-Match\`: the response is 304 as long as nothing but \`usageCount\` and \`lastUsedAt\` changes.

## Compatibility

The API only changes by addition: later versions may add response fields, headers, error codes and enumeration values, so ignore unknown ones. Before an endpoint is removed, its responses have a \`Deprecation\` and a \`Sunset\` header for at least 180 days.

## Roles and permissions

A member's role in a workspace decides what the member and the member's keys may do there. Each operation names the permission that it needs.

${roleTable()}

Every person can leave a workspace, and accept or decline its ownership if it is offered to them. Every user manages their own API keys.

${permissionTable()}`;

function roleTable(): string {
  const head = ["Role", "What it allows"];
  const rows = roles.map((role) => [role, roleCatalog[role]]);
  return formatTable(head, rows);
}

/** Three columns, because the reference page has no space for a column per role. */
function permissionTable(): string {
  const rows = permissions.map((permission) => [
    `\`${permission}\``,
    permissionCatalog[permission],
    roles.filter((role) => roleHasPermission(role, permission)).join(", "),
  ]);
  const head = ["Permission", "What it allows", "Who has it"];
  return formatTable(head, rows);
}

function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
