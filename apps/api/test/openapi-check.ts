import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";

/** A response as the server sent it. */
export interface RecordedResponse {
  readonly method: string;
  /** Without the query string; empty if the request could not be parsed. */
  readonly path: string;
  readonly status: number;
  /** By name in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Returns how a response differs from the document; an empty list if it matches. */
export type ResponseCheck = (response: RecordedResponse) => readonly string[];

/** The parts of an OpenAPI document that the check reads. */
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Components;
}
interface Components {
  readonly schemas: Readonly<Record<string, object>>;
  readonly responses: Readonly<Record<string, Response>>;
  readonly headers: Readonly<Record<string, Header>>;
}
interface Operation {
  readonly responses: Readonly<Record<string, Response | Reference>>;
}
interface Response {
  readonly headers: Readonly<Record<string, Header | Reference>>;
  readonly content?: Readonly<Record<string, Media>>;
}
interface Media {
  readonly schema: object;
  readonly examples?: Readonly<
    Record<string, { readonly value: { readonly error: { readonly code: string } } }>
  >;
}
interface Header {
  readonly required?: boolean;
  readonly schema: object & { readonly type: string };
}
interface Reference {
  readonly $ref: string;
}

/** Headers for transport and caching. Any response can have them, and the document leaves them out. */
const transportHeaders = new Set([
  "access-control-allow-origin",
  "access-control-expose-headers",
  "cache-control",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "vary",
  "x-content-type-options",
]);

/** Headers that a response to no operation can have, such as a 401, 404 or 405. */
const errorHeaders = [
  "X-Request-Id",
  "Allow",
  "Retry-After",
  "WWW-Authenticate",
  "RateLimit",
  "RateLimit-Policy",
];

/** The check of each document. Most apps have the same one, and compiling its schemas takes up to half a second. */
const checks = new Map<string, ResponseCheck>();

/**
 * Checks responses under `/open` against an OpenAPI document. The check is stricter than the document: it
 * rejects members that the document doesn't name, although the document allows responses to gain members.
 */
export function createResponseCheck(source: object): ResponseCheck {
  const { paths, components } = source as Document; // The app's own document, which is linted.
  const content = { paths, components };
  const text = JSON.stringify(content);
  const check = checks.get(text) ?? compileCheck(content);
  checks.set(text, check);
  return check;
}

function compileCheck(source: Document): ResponseCheck {
  const document = closeObjects(source) as Document; // It only adds keywords.
  const { components } = document;
  const operations = listPaths(document);
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
  formats.default(ajv);
  ajv.addVocabulary(["components", "example"]);
  const compiled = new Map<object, ValidateFunction>();
  const validate = (schema: object, value: unknown): readonly string[] => {
    const known = compiled.get(schema);
    const run = known ?? ajv.compile({ components: { schemas: components.schemas }, allOf: [schema] });
    if (!known) compiled.set(schema, run);
    return run(value) ? [] : (run.errors ?? []).map(describeError);
  };
  const resolve = (response: Response | Reference): Response | undefined =>
    "$ref" in response ? components.responses[lastPart(response.$ref)] : response;
  const errorResponse: Response = {
    headers: Object.fromEntries(errorHeaders.map((name) => [name, components.headers[name] ?? anyHeader])),
    content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
  };

  return ({ method, path, status, headers, body }) => {
    // A CORS preflight request is not an operation of the API.
    if (method === "OPTIONS" && status === 204) return body === "" ? [] : ["a preflight has no body"];
    const operation = findOperation(operations, method, path);
    if (!operation && status < 400) return ["no operation has this method and path"];
    const declared = operation?.responses[status];
    const response = operation ? declared && resolve(declared) : errorResponse;
    if (!response) return ["the operation has no such status"];
    const type = (headers.get("content-type") ?? "").replace(/;.*/, "");
    const file = type === "application/json" ? undefined : response.content?.[type];
    const bodyErrors = file ? validate(file.schema, body) : checkBody(response.content?.["application/json"]);
    return [...checkHeaders(response), ...bodyErrors];

    function checkHeaders(response: Response): readonly string[] {
      const expected = Object.entries(response.headers).map(
        ([name, header]): [string, Header | undefined] => [
          name.toLowerCase(),
          "$ref" in header ? components.headers[lastPart(header.$ref)] : header,
        ],
      );
      const names = new Set(expected.map(([name]) => name));
      const unknown = [...headers.keys()].filter((name) => !names.has(name) && !transportHeaders.has(name));
      return [
        ...unknown.map((name) => `the header ${name} is not in the document`),
        ...expected.flatMap(([name, header = anyHeader]) => {
          const value = headers.get(name);
          // Without an operation, the headers depend on the status, and only X-Request-Id is always required.
          if (value === undefined) {
            return header.required && (operation || name === "x-request-id")
              ? [`the header ${name} is missing`]
              : [];
          }
          const typedValue = header.schema.type === "integer" ? Number(value) : value;
          return validate(header.schema, typedValue).map((error) => `the header ${name}${error}`);
        }),
      ];
    }

    function checkBody(media: Media | undefined): readonly string[] {
      if (!media) return body === "" ? [] : ["it has a body, and the document has none"];
      if (body === "" && method === "HEAD") return [];
      if (!headers.get("content-type")?.startsWith("application/json")) return ["it is not application/json"];
      const value: unknown = JSON.parse(body);
      const code = findCode(value);
      const codes = Object.values(media.examples ?? {}).map((example) => example.value.error.code);
      const isUndocumented = operation && status >= 400 && !codes.includes(code ?? "");
      return [
        ...validate(media.schema, value),
        ...(isUndocumented ? [`no example has the code ${code}`] : []),
      ];
    }
  };
}

const anyHeader: Header = { schema: { type: "string" } };

interface Path {
  readonly pattern: RegExp;
  readonly operations: Readonly<Record<string, Operation>>;
}

/** Lists the paths without parameters first, because they take precedence over those with parameters. */
function listPaths({ paths }: Document): readonly Path[] {
  return Object.entries(paths)
    .toSorted(([one], [other]) => count(one) - count(other))
    .map(([template, operations]) => ({ pattern: toPattern(template), operations }));
}

function findOperation(paths: readonly Path[], method: string, path: string): Operation | undefined {
  const name = method === "HEAD" ? "get" : method.toLowerCase();
  return paths.find(({ pattern }) => pattern.test(path))?.operations[name];
}

function count(template: string): number {
  return template.split("{").length;
}

function toPattern(template: string): RegExp {
  return new RegExp(`^/open${template.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`);
}

/** Returns a copy in which schemas of objects with named members allow no others. Records are unchanged. */
function closeObjects(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closeObjects);
  if (typeof value !== "object" || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, member]) => [key, closeObjects(member)]));
  const isOpen = copy.type === "object" && "properties" in copy && !("additionalProperties" in copy);
  return isOpen ? { ...copy, additionalProperties: false } : copy;
}

function lastPart(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

function findCode(value: unknown): string | undefined {
  return (value as { error?: { code?: string } } | null)?.error?.code; // Unvalidated: it is only compared.
}

function describeError({ instancePath, message, params }: ErrorObject): string {
  const detail = "additionalProperty" in params ? ` (${String(params.additionalProperty)})` : "";
  return `${instancePath} ${message}${detail}`;
}
