// The constraints on requests in the OpenAPI document, which generated clients and gateways enforce.
import { expect, test } from "vitest";
import { endpoints } from "../src/open/endpoints.ts";
import { createOpenApiDocument } from "../src/open/openapi-document.ts";
import { createResponseCheck } from "./openapi-check.ts";

interface Schema {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
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
  readonly responses: Readonly<Record<string, { readonly $ref?: string }>>;
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly responses: Readonly<Record<string, { readonly description: string }>>;
  };
}

const document = createOpenApiDocument(endpoints, {
  baseUrl: "https://keys.example.com",
  version: "0.1.0",
}) as Document; // The parts that the tests read.
const operations = Object.values(document.paths).flatMap((path) => Object.values(path));

/** Lists the paths of strings without a maximum length or pattern, and of arrays without a maximum length. */
function findUnbounded(schema: Schema, path: string): string[] {
  const isUnboundedText =
    schema.type === "string" &&
    !schema.enum &&
    (schema.maxLength === undefined || schema.pattern === undefined);
  const isUnboundedArray = schema.type === "array" && schema.maxItems === undefined;
  return [
    ...(isUnboundedText || isUnboundedArray ? [path] : []),
    ...(schema.items ? findUnbounded(schema.items, `${path}[]`) : []),
    ...(schema.anyOf ?? []).flatMap((option) => findUnbounded(option, path)),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, member]) =>
      findUnbounded(member, `${path}.${name}`),
    ),
  ];
}

test("every string in a request has a maximum length and a pattern, and every array a maximum", () => {
  const unbounded = operations.flatMap(({ operationId, parameters, requestBody }) => {
    const body = requestBody?.content["application/json"].schema;
    return [
      ...parameters
        .filter(({ $ref }) => !$ref)
        .flatMap(({ name, schema }) => findUnbounded(schema, `${operationId} ${name}`)),
      ...(body ? findUnbounded(body, operationId) : []),
    ];
  });
  expect(unbounded).toEqual([]);
  const headers = Object.values(document.components.parameters);
  expect(headers.flatMap(({ name, schema }) => findUnbounded(schema, name))).toEqual([]);
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
  expect(headers.map(([name]) => name)).toEqual(["IdempotencyKey", "IfMatch", "IfNoneMatch"]);
  for (const [, parameter] of headers) {
    expect(parameter.example).toBeUndefined();
    expect(parameter.schema.example).toBeUndefined();
  }
});

test("the examples of request bodies don't restrict or disable anything", () => {
  const examples = operations.flatMap(({ operationId, requestBody }) =>
    requestBody ? [[operationId, requestBody.content["application/json"].example]] : [],
  );
  expect(Object.fromEntries(examples)).toEqual({
    updateApiKey: { name: "CI deploys", description: "Used by the deploy job." },
    rotateApiKey: { overlapSeconds: 86_400 },
    createWorkspace: { name: "Payments", description: "Keys of the payment services." },
    renameWorkspace: { name: "Payments", description: "Keys of the payment services." },
    changeMemberRole: { role: "member" },
    createInvitation: { email: "grace@example.com", role: "member" },
  });
});

test("403 and 404 are described for keys under /api-keys, and for workspaces elsewhere", () => {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const { responses } of Object.values(methods)) {
      const describe = (status: string) =>
        document.components.responses[responses[status]?.$ref?.split("/").at(-1) ?? ""]?.description;
      const isAboutKey = path.startsWith("/api-keys/");
      expect(describe("403")).toContain(
        isAboutKey ? "belongs to another user" : "isn't a member of the workspace",
      );
      if (responses["404"])
        expect(describe("404")).toContain(isAboutKey ? "has been deleted" : "The workspace has");
    }
  }
});

test("422 has an example with an expands_access issue", () => {
  const update = operations.find(({ operationId }) => operationId === "updateApiKey");
  const name = update?.responses["422"]?.$ref?.split("/").at(-1) ?? "";
  const response = document.components.responses[name] as unknown as {
    content: {
      "application/json": { examples: Record<string, { value: { error: { issues?: unknown[] } } }> };
    };
  };
  const examples = Object.values(response.content["application/json"].examples);
  expect(examples.map(({ value }) => value.error.issues)).toContainEqual([
    expect.objectContaining({ code: "expands_access" }),
  ]);
});
