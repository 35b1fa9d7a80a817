import { Ajv2020, type ErrorObject, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";

/** An answer as it left the server. */
export interface SeenAnswer {
  readonly method: string;
  /** Without its query; empty where a request never had one. */
  readonly path: string;
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Says what of an answer does not fit the document: nothing, if it fits. */
export type AnswerCheck = (answer: SeenAnswer) => readonly string[];

/** What the check reads of an OpenAPI document. */
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
  readonly content?: { readonly "application/json": Media };
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

/** Headers that say how an answer travels and is kept. They are the same for all, and no part of the document. */
const general = new Set([
  "access-control-allow-origin",
  "access-control-expose-headers",
  "cache-control",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "date",
  "vary",
  "vary",
  "x-content-type-options",
]);

/** Where an answer belongs to no operation, for it may be a 401, a 404 or a 405, these may come with it. */
const ofFailures = [
  "X-Request-Id",
  "Allow",
  "Retry-After",
  "WWW-Authenticate",
  "RateLimit",
  "RateLimit-Policy",
];

/**
 * Holds answers under `/open` against an OpenAPI document. It is stricter than the document, which lets answers gain
 * members: one that it does not name is found.
 */
export function createAnswerCheck(source: object): AnswerCheck {
  const document = closeObjects(source) as Document; // Ours, and linted.
  const { components } = document;
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
  formats.default(ajv);
  ajv.addVocabulary(["components", "example"]);
  const compiled = new Map<object, ValidateFunction>();
  const validate = (schema: object, value: unknown): readonly string[] => {
    const known = compiled.get(schema);
    const run = known ?? ajv.compile({ components: { schemas: components.schemas }, allOf: [schema] });
    if (!known) compiled.set(schema, run);
    return run(value) ? [] : (run.errors ?? []).map(toWords);
  };
  const resolve = (response: Response | Reference): Response | undefined =>
    "$ref" in response ? components.responses[lastPart(response.$ref)] : response;
  const failure: Response = {
    headers: Object.fromEntries(ofFailures.map((name) => [name, components.headers[name] ?? anyHeader])),
    content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
  };

  return ({ method, path, status, headers, body }) => {
    // A CORS preflight comes from the browser and is no operation of the API.
    if (method === "OPTIONS" && status === 204) return body === "" ? [] : ["a preflight has no body"];
    const operation = findOperation(document, method, path);
    if (!operation && status < 400) return ["no operation has this method and path"];
    const declared = operation?.responses[status];
    const response = operation ? declared && resolve(declared) : failure;
    if (!response) return ["the operation has no such status"];
    return [...checkHeaders(response), ...checkBody(response.content?.["application/json"])];

    function checkHeaders(response: Response): readonly string[] {
      const expected = Object.entries(response.headers).map(
        ([name, header]): [string, Header | undefined] => [
          name.toLowerCase(),
          "$ref" in header ? components.headers[lastPart(header.$ref)] : header,
        ],
      );
      const names = new Set(expected.map(([name]) => name));
      const unknown = [...headers.keys()].filter((name) => !names.has(name) && !general.has(name));
      return [
        ...unknown.map((name) => `the header ${name} is not in the document`),
        ...expected.flatMap(([name, header = anyHeader]) => {
          const value = headers.get(name);
          // Which of them come with an answer that belongs to no operation depends on its status.
          if (value === undefined) {
            return header.required && (operation || name === "x-request-id")
              ? [`the header ${name} is missing`]
              : [];
          }
          const meant = header.schema.type === "integer" ? Number(value) : value;
          return validate(header.schema, meant).map((words) => `the header ${name}${words}`);
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
      const isUntold = operation && status >= 400 && !codes.includes(code ?? "");
      return [...validate(media.schema, value), ...(isUntold ? [`no example has the code ${code}`] : [])];
    }
  };
}

const anyHeader: Header = { schema: { type: "string" } };

function findOperation({ paths }: Document, method: string, path: string): Operation | undefined {
  const name = method === "HEAD" ? "get" : method.toLowerCase();
  // A path without parameters is meant before one with them.
  const templates = Object.keys(paths).toSorted((one, other) => count(one) - count(other));
  const template = templates.find((candidate) => toPattern(candidate).test(path));
  return template === undefined ? undefined : paths[template]?.[name];
}

function count(template: string): number {
  return template.split("{").length;
}

function toPattern(template: string): RegExp {
  return new RegExp(`^/open${template.replaceAll(".", "\\.").replace(/\{\w+\}/g, "[^/]+")}$`);
}

/** A copy in which every object has the members that it names and no others; records stay what they are. */
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
  return (value as { error?: { code?: string } } | null)?.error?.code; // Whatever it is, it is only compared.
}

function toWords({ instancePath, message, params }: ErrorObject): string {
  const detail = "additionalProperty" in params ? ` (${String(params.additionalProperty)})` : "";
  return `${instancePath} ${message}${detail}`;
}
