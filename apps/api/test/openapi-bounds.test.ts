// The constraints in the OpenAPI document. Generated clients and gateways enforce those on requests, and size columns
// and buffers by those on responses.
import { permissions } from "@latchkey/auth/permissions";
import { maxLength } from "@latchkey/limits";
import { expect, test } from "vitest";
import { endpoints } from "../src/open/endpoints.ts";
import { createOpenApiDocument } from "../src/open/openapi-document.ts";
import { outcomes } from "../src/presenters/usage-bucket.ts";
import { readVerification } from "../src/read-verification.ts";
import { createResponseCheck } from "./openapi-check.ts";

interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly propertyNames?: Schema;
  readonly additionalProperties?: Schema;
}
interface Response {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, { readonly $ref?: string; readonly schema?: Schema }>>;
  readonly content?: Readonly<Record<string, { readonly schema: Schema } | undefined>>;
}
interface Parameter {
  readonly name: string;
  readonly schema: Schema & { readonly example?: unknown };
  readonly example?: unknown;
}
interface Operation {
  readonly operationId: string;
  readonly parameters: readonly (Parameter & { readonly $ref?: string })[];
  readonly requestBody?: {
    readonly content: { readonly "application/json": { readonly schema: Schema; readonly example: unknown } };
  };
  readonly responses: Readonly<Record<string, Response>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly responses: Readonly<Record<string, Response & { readonly description: string }>>;
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly headers: Readonly<Record<string, { readonly schema: Schema }>>;
  };
}

const document = createOpenApiDocument(endpoints, {
  baseUrl: "https://keys.example.com",
  version: "0.1.0",
}) as Document; // The parts that the tests read.
const operations = Object.values(document.paths).flatMap((path) => Object.values(path));

/**
 * Lists the paths of strings and arrays without a maximum length, and if `needsPattern`, of strings without a pattern.
 * Doesn't follow references to components.
 */
function findUnbounded(schema: Schema, path: string, needsPattern: boolean): string[] {
  const isOf = (type: string) => [schema.type].flat().includes(type);
  const isListed = schema.enum !== undefined || schema.const !== undefined;
  const isUnboundedText =
    isOf("string") &&
    !isListed &&
    (schema.maxLength === undefined || (needsPattern && schema.pattern === undefined));
  const isUnboundedArray = isOf("array") && schema.maxItems === undefined;
  const { items, propertyNames, additionalProperties, properties, anyOf, oneOf, allOf } = schema;
  const members: (readonly [string, Schema | undefined])[] = [
    [`${path}[]`, items],
    [`${path}.<name>`, propertyNames],
    [`${path}.*`, additionalProperties],
    ...[anyOf, oneOf, allOf].flatMap((options) => options ?? []).map((option) => [path, option] as const),
    ...Object.entries(properties ?? {}).map(([name, member]) => [`${path}.${name}`, member] as const),
  ];
  return [
    ...(isUnboundedText || isUnboundedArray ? [path] : []),
    ...members.flatMap(([name, member]) => (member ? findUnbounded(member, name, needsPattern) : [])),
  ];
}

test("every string in a request has a maximum length and a pattern, and every array a maximum", () => {
  const unbounded = operations.flatMap(({ operationId, parameters, requestBody }) => {
    const body = requestBody?.content["application/json"].schema;
    return [
      ...parameters
        .filter(({ $ref }) => !$ref)
        .flatMap(({ name, schema }) => findUnbounded(schema, `${operationId} ${name}`, true)),
      ...(body ? findUnbounded(body, operationId, true) : []),
    ];
  });
  expect(unbounded).toEqual([]);
  const headers = Object.values(document.components.parameters);
  expect(headers.flatMap(({ name, schema }) => findUnbounded(schema, name, true))).toEqual([]);
});

test("every string in a response, and every array, has a maximum length", () => {
  const { schemas, headers, responses } = document.components;
  const find = (schema: Schema | undefined, path: string) =>
    schema ? findUnbounded(schema, path, false) : [];
  const inResponse = (response: Response, path: string) => [
    // A file that is streamed has any length.
    ...find(response.content?.["application/json"]?.schema, path),
    ...Object.entries(response.headers ?? {}).flatMap(([name, header]) =>
      find(header.schema, `${path} ${name}`),
    ),
  ];
  expect([
    ...Object.entries(schemas).flatMap(([name, schema]) => find(schema, name)),
    ...Object.entries(headers).flatMap(([name, { schema }]) => find(schema, name)),
    ...Object.entries(responses).flatMap(([name, response]) => inResponse(response, name)),
    ...operations.flatMap(({ operationId, responses: ofOperation }) =>
      Object.entries(ofOperation).flatMap(([status, response]) =>
        inResponse(response, `${operationId} ${status}`),
      ),
    ),
  ]).toEqual([]);
  // The search for unbounded schemas doesn't follow references, so every schema must be a component or inline.
  expect(Object.keys(schemas)).toEqual(expect.arrayContaining(["ApiKey", "AuditEvent", "Error", "Issue"]));
});

test("the names that the product defines are as short as the document says", () => {
  for (const name of [...permissions, ...Object.keys(outcomes)])
    expect(name.length).toBeLessThanOrEqual(maxLength.identifier);
});

test("Ajv in strict mode accepts every schema of the document", () => {
  const check = createResponseCheck(document);
  const headers = new Map([["content-type", "application/json"]]);
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, { responses }] of Object.entries(methods))
      for (const status of Object.keys(responses)) {
        const response = {
          method: method.toUpperCase(),
          path: `/open${path}`,
          status: Number(status),
          headers,
          body: "{}",
        };
        expect(() => check(response)).not.toThrow();
      }
});

test("request headers have no examples, because the reference page would send them", () => {
  const headers = Object.entries(document.components.parameters);
  expect(headers.map(([name]) => name)).toEqual([
    "IdempotencyKey",
    "IdempotencyKeyOfVerification",
    "IfMatch",
    "IfNoneMatch",
  ]);
  for (const [, parameter] of headers) {
    expect(parameter.example).toBeUndefined();
    expect(parameter.schema.example).toBeUndefined();
  }
});

/**
 * Whether a member of a request body, with the value of an example, is harmless: it identifies or describes something, adds
 * something, or has the value that restricts nothing. People send the examples from the reference page, one after the other.
 */
const harmless: Readonly<Record<string, (value: unknown) => boolean>> = {
  ...Object.fromEntries(
    ["name", "description", "url", "email", "prefix", "environment", "userId", "externalId", "key"].map(
      (name) => [name, (value: unknown) => typeof value === "string" && value !== ""],
    ),
  ),
  meta: (value) => value !== null,
  isRead: (value) => value === true,
  isDisabled: (value) => value === false,
  action: (value) => value === "enable",
  // With the examples, people and service accounts are added as members, and webhooks with these events.
  role: (value) => value === "member",
  actions: (value) => JSON.stringify(value) === '["member.removed","key.created"]',
  // The secret that is rotated stays valid for a day.
  overlapSeconds: (value) => value === 86_400,
  add: (value) => Number(value) > 0,
  maxIdleDays: (value) => value === null,
  // At least a million requests per minute.
  limits: (value) =>
    isFilledList(
      value,
      ({ quota, windowSeconds }) => Number(quota) >= 1_000_000 && Number(windowSeconds) <= 60,
    ),
  // What a verification requires, and how much it costs.
  permissions: (value) => typeof value === "string",
  cost: (value) => Number(value) >= 0,
  verifications: (value) =>
    isFilledList(value, (body) => typeof body.key === "string" && findHarm(body).length === 0),
};

/** Whether a value is a list with at least one item, and each item is of the kind that `isItem` accepts. */
function isFilledList(value: unknown, isItem: (item: Readonly<Record<string, unknown>>) => boolean): boolean {
  return Array.isArray(value) && value.length > 0 && value.every((item) => isItem(Object(item)));
}

function findHarm(body: object): string[] {
  return Object.entries(body).flatMap(([name, value]) => (harmless[name]?.(value) ? [] : [name]));
}

test("the examples of request bodies don't disable, delete, restrict or lower anything", () => {
  const examples = operations.flatMap(({ operationId, requestBody }) =>
    requestBody ? [[operationId, requestBody.content["application/json"].example] as const] : [],
  );
  expect(examples.length).toBeGreaterThan(20);
  for (const [operationId, example] of examples) {
    expect(Object.keys(Object(example)), operationId).not.toEqual([]);
    expect(findHarm(Object(example)), operationId).toEqual([]);
  }
});

test("403 and 404 are described for keys under /api-keys, and for workspaces elsewhere", () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const { responses } of Object.values(methods)) {
      const describe = (status: string) =>
        document.components.responses[responses[status]?.$ref?.split("/").at(-1) ?? ""]?.description;
      const isAboutKey = path.startsWith("/api-keys/");
      const forbidden = isAboutKey ? "belongs to another user" : "isn't a member of the workspace";
      expect(describe("403")).toContain(path.endsWith("/current/revoke") ? "already revoked" : forbidden);
      if (responses["404"])
        expect(describe("404")).toContain(isAboutKey ? "has been deleted" : "The workspace has");
    }
  }
});

test.each(["192.0.2.7", "::ffff:192.0.2.7", "fe80::1%eth0", "fe80::1%en-0.1"])(
  "the document allows the client IP address %s, as the server does",
  (clientIp) => {
    const verify = operations.find(({ operationId }) => operationId === "verifyKey");
    const { schema } = verify?.requestBody?.content["application/json"] ?? {};
    const properties = document.components.schemas[schema?.$ref?.split("/").at(-1) ?? ""]?.properties;
    expect(clientIp).toMatch(new RegExp((schema?.properties ?? properties)?.clientIp?.pattern ?? "^$"));
    expect(readVerification({ key: "acme_1", clientIp })).toBeDefined();
  },
);

test.each([
  { operationId: "updateApiKey", code: "expands_access" },
  { operationId: "createKeyspace", code: "quota_exceeded" },
])("422 of $operationId has an example with the issue $code", ({ operationId, code }) => {
  const operation = operations.find((other) => other.operationId === operationId);
  const name = operation?.responses["422"]?.$ref?.split("/").at(-1) ?? "";
  const response = document.components.responses[name] as unknown as {
    content: {
      "application/json": { examples: Record<string, { value: { error: { issues?: unknown[] } } }> };
    };
  };
  const [example] = Object.values(response.content["application/json"].examples);
  expect(example?.value.error.issues).toEqual([expect.objectContaining({ code })]);
});
