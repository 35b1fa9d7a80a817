import type { Verification, VerificationResult } from "@latchkey/auth/verification";
import type { Trx } from "@latchkey/db/schema";
import type { ErrorCode } from "@latchkey/errors";
import type { z } from "zod";
import { andThen } from "./and-then.ts";
import type { Deprecation } from "./deprecation.ts";
import type { Access, AnyCall, Call, CallOf } from "./endpoint-call.ts";
import type { ListedSecrets, SecretsOf } from "./issued-secrets.ts";
import { isEmpty, parseInput, type RawInput, type RequestParts } from "./parse-input.ts";
import { openFile, type StreamedFile } from "./streamed-file.ts";

/** The success response of an endpoint. */
export type EndpointResponse<Schema extends z.ZodObject = z.ZodObject> =
  | {
      readonly status: 200 | 201;
      /** What is returned, as a phrase. */
      readonly description: string;
      readonly schema: Schema;
      /**
       * Whether the response has a `version`, and therefore an `ETag`. A GET then evaluates `If-Match` and
       * `If-None-Match`.
       */
      readonly hasEtag?: boolean;
      /** Fields, at any depth, whose changes don't change the `ETag`. */
      readonly notInEtag?: readonly string[];
    }
  | FileResponse
  | { readonly status: 204; readonly schema?: undefined };

/** A response with a file that is streamed. */
interface FileResponse {
  readonly status: 200;
  readonly schema?: undefined;
  /** The types that the file can have, with an example of each. */
  readonly file: Readonly<Record<string, string>>;
}

/** An operation of the open API. The router, the OpenAPI document and the tests are built from it. */
export interface Endpoint {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** The path under `/open`, with parameters such as `:workspaceId`. */
  readonly path: `/${string}`;
  /** A unique ID, after which generated clients name their function. */
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly access: Access;
  /** Whether the path refers to the key of the request. */
  readonly isAboutKey?: boolean;
  readonly request: RequestParts;
  readonly response: EndpointResponse;
  /** The secrets that the response issues: one per item of `list`, or one in the response itself if `list` is undefined. */
  readonly secrets?: Omit<ListedSecrets<string, RawInput, AnyCall>, "list"> & {
    readonly list: string | undefined;
  };
  /** Errors in addition to those that every endpoint can return. */
  readonly errors: readonly ErrorCode[];
  /** Whether long responses are compressed. Only lists without secrets are. */
  readonly isCompressible: boolean;
  /** Set once clients should use something else (docs/api-changes.md). */
  readonly deprecated?: Deprecation;
  /**
   * Checks what admission can't check, in the transaction of a change and before the change, including for a retry. Parses
   * the raw parts of the request.
   */
  readonly authorize?: (raw: RawInput, call: AnyCall, trx: Trx) => Promise<void>;
  /** Parses the raw parts of a request, runs the handler, and removes undeclared fields from its result. */
  readonly run: (raw: RawInput, call: AnyCall) => Answer | Promise<Answer>;
  /**
   * Verifies keys, in the transaction that admits the request. The body is read before the request is admitted, and `run` is
   * not called.
   */
  readonly verifies?: {
    /** Parses the raw parts of a request. @throws {AppError} BAD_REQUEST */
    readonly parse: (raw: RawInput) => readonly Verification[];
    /** Formats the body of the response, as JSON with only the fields of its schema. */
    readonly format: (results: readonly VerificationResult[]) => string;
    /** What precedes the path of a field of a verification in issues, by its position from 0. */
    readonly pathOf: (verification: number) => string;
  };
  /** Parses the raw parts of a request and opens the file to stream; for an endpoint with a {@link FileResponse}. */
  readonly openFile?: (raw: RawInput, call: AnyCall) => Promise<StreamedFile>;
}

/** The members of responses that contain a list. A preview lists `keys`. */
const listMembers = ["data", "keys"];

/** The body of a response, with only the fields of the response's schema; undefined for no body. */
export type Answer = Record<string, unknown> | undefined;

type Parsed<Parts extends RequestParts> = {
  readonly [Part in keyof Parts]: Parts[Part] extends z.ZodType ? z.output<Parts[Part]> : undefined;
};

/**
 * Declares an endpoint. The handler is: parsed input → domain call → presenter. A handler that needs no I/O returns its
 * result without a promise and needs no deadline.
 */
export function defineEndpoint<
  Parts extends RequestParts,
  Schema extends z.ZodObject,
  Allowed extends Access,
  Response extends EndpointResponse<Schema>,
>(
  declaration: Omit<
    Endpoint,
    "run" | "isCompressible" | "authorize" | "request" | "response" | "access" | "secrets"
  > & {
    readonly access: Allowed;
    readonly request: Parts;
    readonly response: Response;
    /** Runs in the transaction before the handler's changes. @throws {AppError} if the request is rejected. */
    readonly authorize?: (input: Parsed<Parts>, call: CallOf<Allowed>, trx: Trx) => Promise<void>;
    readonly handle: (
      input: Parsed<Parts>,
      call: CallOf<Allowed>,
    ) => Input<Response> | Promise<Input<Response>>;
  } & SecretsOf<keyof Input<Response> & string, Parsed<Parts>, CallOf<Allowed>>,
): Endpoint {
  const { handle, authorize, secret, secrets, ...facts } = declaration;
  const { schema } = facts.response;
  const strip = (answer: unknown): Answer => schema?.parse(answer);
  const parse = (raw: RawInput) => parseInput(facts.request, raw) as Parsed<Parts>; // Each part by its own schema.
  return {
    ...facts,
    isCompressible:
      facts.method === "GET" &&
      !secret &&
      !secrets &&
      schema !== undefined &&
      listMembers.some((name) => name in schema.shape),
    ...(authorize
      ? {
          // Admission sets `access` if the declaration requires a permission in a workspace.
          authorize: (raw, call, trx) => authorize(parse(raw), call as CallOf<Allowed>, trx),
        }
      : {}),
    ...(secret
      ? {
          secrets: {
            ...secret,
            list: undefined,
            reissue: async (raw, call, { hashes, ...issued }) => {
              // Admission sets `access` if the declaration requires a permission in a workspace.
              const own = call as CallOf<Allowed>;
              const reissueOne = (hash: Buffer) => secret.reissue(parse(raw), own, { ...issued, hash });
              return await Promise.all(hashes.map(reissueOne));
            },
          },
        }
      : {}),
    ...(secrets
      ? {
          secrets: {
            ...secrets,
            // Admission sets `access` if the declaration requires a permission in a workspace.
            reissue: (raw, call, issued) => secrets.reissue(parse(raw), call as CallOf<Allowed>, issued),
          },
        }
      : {}),
    run(raw, call) {
      const input = parse(raw);
      const transact: Call["transact"] = (work) =>
        call.transact(async (trx) => {
          await authorize?.(input, call as CallOf<Allowed>, trx);
          return await work(trx);
        });
      // Admission sets `access` if the declaration requires a permission in a workspace.
      return andThen(handle(input, (authorize ? { ...call, transact } : call) as CallOf<Allowed>), strip);
    },
  };
}

/** Declares an endpoint that responds with a file. Its call's `read` can be used as long as the file is streamed. */
export function defineFileEndpoint<Parts extends RequestParts, Allowed extends Access>(
  declaration: Pick<Endpoint, "path" | "operationId" | "summary" | "description" | "errors"> & {
    readonly access: Allowed;
    readonly request: Parts;
    readonly response: FileResponse;
    readonly open: (input: Parsed<Parts>, call: CallOf<Allowed>) => StreamedFile;
  },
): Endpoint {
  const { open, ...facts } = declaration;
  return {
    ...facts,
    method: "GET",
    isCompressible: false,
    run: () => {
      throw new Error("This endpoint responds with a file.");
    },
    // Admission sets `access` if the declaration requires a permission in a workspace.
    openFile: async (raw, call) =>
      await openFile(open(parseInput(facts.request, raw) as Parsed<Parts>, call as CallOf<Allowed>)),
  };
}

/** Declares an endpoint that verifies keys. It needs nothing but a valid key: each verification checks the permission. */
export function defineVerificationEndpoint<Body extends z.ZodObject>(
  declaration: Pick<Endpoint, "path" | "operationId" | "summary" | "description" | "response" | "errors"> &
    Pick<NonNullable<Endpoint["verifies"]>, "format" | "pathOf"> & {
      readonly request: { readonly body: Body };
      readonly verifications: (body: z.output<Body>) => readonly Verification[];
      /** Reads common bodies faster than the schema, with the same result; undefined for a body that it doesn't support. */
      readonly readCommon: (body: object) => readonly Verification[] | undefined;
    },
): Endpoint {
  const { verifications, readCommon, format, pathOf, ...facts } = declaration;
  return {
    ...facts,
    method: "POST",
    access: "key",
    isCompressible: false,
    run: () => {
      throw new Error("This endpoint verifies keys.");
    },
    verifies: {
      parse: (raw) =>
        (raw.body && isEmpty(raw.query) && readCommon(raw.body)) ||
        verifications(parseInput(facts.request, raw).body as z.output<Body>), // Parsed by this schema.
      format,
      pathOf,
    },
  };
}

type Input<Response extends EndpointResponse> = Response extends { readonly schema: z.ZodObject }
  ? z.input<Response["schema"]>
  : undefined;
