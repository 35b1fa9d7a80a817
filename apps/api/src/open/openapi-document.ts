import { permissionCatalogue, permissions, roleHolds, roles } from "@latchkey/auth/permissions";
import {
  type CreateDocumentOptions,
  createDocument,
  type ZodOpenApiObject,
  type ZodOpenApiPathsObject,
} from "zod-openapi";
import type { PublicConfiguration } from "../domain/instance.ts";
import type { Endpoint } from "../http/endpoint.ts";
import { describeErrors } from "./openapi-errors.ts";
import { addExamples } from "./openapi-examples.ts";
import { headers, parameters } from "./openapi-headers.ts";
import { describeOperation, toOpenApiPath } from "./openapi-operation.ts";
import { tagOf } from "./openapi-tags.ts";

/** The OpenAPI 3.1 document of the endpoints: what they declare, and nothing that they do not. */
export function createOpenApiDocument(
  endpoints: readonly Endpoint[],
  { baseUrl, version }: Pick<PublicConfiguration, "baseUrl" | "version">,
): object {
  const paths: ZodOpenApiPathsObject = {};
  for (const endpoint of endpoints) {
    const path = toOpenApiPath(endpoint.path);
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: describeOperation(endpoint) };
  }
  const errors = endpoints.flatMap(describeErrors).map(({ id, response }) => [id, response] as const);
  const tags = new Map(endpoints.map(tagOf).map((tag) => [tag.name, tag]));
  const document: ZodOpenApiObject = {
    openapi: "3.1.0",
    info: { title: "Latchkey open API", version, description: introduction },
    servers: [{ url: `${baseUrl}/open` }],
    security: [{ apiKey: [] }],
    tags: [...tags.values()],
    paths,
    components: {
      parameters,
      headers,
      responses: Object.fromEntries(errors.toSorted(([one], [other]) => (one < other ? -1 : 1))),
      securitySchemes: {
        apiKey: { type: "http", scheme: "bearer", description: "An API key, such as `lk_…`." },
      },
    },
  };
  return addExamples(createDocument(document, { override: leaveAnswersOpen }));
}

/** Answers may gain members, so that none of their objects is closed; requests stay as strict as they are. */
const leaveAnswersOpen: NonNullable<CreateDocumentOptions["override"]> = ({ jsonSchema, io }) => {
  if (io === "output" && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
};

const introduction = `Call it with an API key that you made in the web app, as \`Authorization: Bearer lk_…\`. A key has the permissions of the person who made it, in all of that person's workspaces, as they are at the moment of the request.

## Requests and answers

JSON goes in and out. Names of members are in camelCase, ids are TypeIDs such as \`ws_01h455vb4pex5vsknk084sn02q\`, times are ISO 8601 in UTC. A query string has at most 50 parameters and 4,096 bytes. A request with a member or a query parameter that nobody asked for is refused; an answer may gain members, so ignore those you do not know. Every answer carries \`X-Request-Id\`, and takes yours over if you sent one of 1 to 128 URL-safe characters.

## Failures

Every failure has the same shape: \`{ "error": { "code", "message", "requestId" } }\`. Decide by \`code\`, show \`message\`, quote \`requestId\`. Without a good key everything is 401 or 403. With one, a path that leads nowhere is 404 \`NOT_FOUND\`, and a method that a path does not have 405 \`METHOD_NOT_SUPPORTED\`, with those it has in \`Allow\`. A workspace that the key does not reach and one that does not exist are told apart by nobody: both are 403.

## Lists

A list comes a page at a time: \`{ "data", "nextCursor", "hasMore" }\`. Pass \`nextCursor\` back as \`cursor\`, or follow the \`Link\` with \`rel="next"\`.

## Sending a request again

Give a POST an \`Idempotency-Key\` of your choice, and however often you send it, it is carried out once: the answer to the first one comes again, with \`Idempotent-Replayed: true\`.

## Editing what others edit too

Send the \`ETag\` that you last saw as \`If-Match\`, and the edit is refused with 412 if somebody was faster.

## Roles and permissions

A member's role in a workspace says what they, and so their keys, may do there. Each operation names the permission that it needs.

${roleTable()}`;

/** Three columns: the reference page has no room for one a role. */
function roleTable(): string {
  const rows = permissions.map((permission) => [
    `\`${permission}\``,
    permissionCatalogue[permission],
    roles.filter((role) => roleHolds(role, permission)).join(", "),
  ]);
  const head = ["Permission", "What it allows", "Who has it"];
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}
