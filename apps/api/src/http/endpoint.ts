import type { Permission } from "@latchkey/auth/permissions";
import type { Principal } from "@latchkey/auth/verdict";
import type { Verification, VerificationResult } from "@latchkey/auth/verification";
import type { WorkspaceAccess } from "@latchkey/auth/workspace-access";
import type { Origin } from "@latchkey/db/audit-actions";
import type { Db, Trx } from "@latchkey/db/schema";
import type { ErrorCode } from "@latchkey/errors";
import type { z } from "zod";
import type { Services } from "../domain/services.ts";
import { andThen } from "./and-then.ts";
import type { Deprecation } from "./deprecation.ts";
import { isEmpty, parseInput, type RawInput, type RequestParts } from "./parse-input.ts";
import { openFile, type StreamedFile } from "./streamed-file.ts";

/**
 * The access that an endpoint requires. `key`: a valid API key. `unrestricted-key`: a valid API key that is not
 * restricted to workspaces, permissions or reading. `workspace`: this permission, of the key and its user, in the
 * workspace of the path parameter `:workspaceId`. There is no default: an endpoint without `access` does not compile.
 */
export type Access = "key" | "unrestricted-key" | { readonly workspace: Permission };

/** The context that a handler gets in addition to its input. */
export interface Call {
  /** The instance without its database, which `read` and `transact` provide. */
  readonly services: Omit<Services, "db" | "readDb">;
  readonly principal: Principal;
  /** The actor, IP address and request ID for the audit log. */
  readonly origin: Origin;
  /** When the request arrived, by this node's clock. */
  readonly now: Date;
  /**
   * Whether this request repeats a request with the same `Idempotency-Key` that the same secret made and that was
   * carried out. Such a retry may be allowed where a new request is not.
   */
  readonly isOwnRetry: boolean;
  /** The versions in `If-Match`; undefined if the header is missing or `*`. */
  readonly ifMatch: readonly number[] | undefined;
  /**
   * Reads from the database on one connection. The number of concurrent reads per user is limited. Postgres cancels a
   * statement after one second and rejects changes.
   */
  readonly read: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;
  /**
   * Runs all changes of the request in one transaction; call it once. A request with an `Idempotency-Key` is recorded
   * in the same transaction.
   */
  readonly transact: <Result>(work: (trx: Trx) => Promise<Result>) => Promise<Result>;
}

/** The context of an endpoint that requires a permission in a workspace, with the access that admission granted. */
export interface WorkspaceCall extends Call {
  readonly access: WorkspaceAccess;
}

/** The context of any endpoint; `access` is set if the endpoint requires a permission in a workspace. */
export type AnyCall = Call & Partial<WorkspaceCall>;

/** The context of an endpoint with this access. */
type CallOf<Allowed extends Access> = Allowed extends string ? Call : WorkspaceCall;

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

/**
 * A secret that a response issues. It is shown once and not stored, so that a retry can't get it again: a retry gets a
 * new secret or none (docs/decisions/0026). The response also has a `secretStatus`. If it has a `start`, a retry gets that of its secret.
 */
interface IssuedSecret<Member extends string, Request, Context extends Call> {
  /** The field of the response with the secret. */
  readonly member: Member;
  /** Computes the SHA-256 that identifies the secret; by default, of the whole secret. */
  readonly digest?: (secret: string) => Buffer;
  /**
   * Replaces the secret that the first response issued, in the transaction of the retry.
   * @param issued.hash the digest of that secret.
   * @param issued.answer the first response, without the secret.
   * @returns the new secret, or the response with the new secret if it has fields that the replacement changes, such as a version;
   *   undefined if the secret of the first response was used or is no longer current.
   */
  readonly reissue: (
    request: Request,
    call: Context,
    issued: { readonly trx: Trx; readonly hash: Buffer; readonly answer: Record<string, unknown> },
  ) => Promise<string | Reissued | undefined>;
}

/** Fields of a response that a retry replaces, with the new secret. */
type Reissued = Readonly<Record<string, unknown>>;

/**
 * The secrets that a response issues in a list: each item has a secret and a `secretStatus`. A retry gets a new secret or none for
 * each item.
 */
interface ListedSecrets<List extends string, Request, Context extends Call>
  extends Pick<IssuedSecret<string, Request, Context>, "member" | "digest"> {
  /** The field of the response with the list. */
  readonly list: List;
  /**
   * Replaces the secrets that the first response issued, in the transaction of the retry.
   * @param issued.hashes the digests of these secrets, in the order of the list.
   * @param issued.answer the first response, without the secrets.
   * @returns the new secrets in the order of the list; undefined for one that was used or is no longer current.
   */
  readonly reissue: (
    request: Request,
    call: Context,
    issued: {
      readonly trx: Trx;
      readonly hashes: readonly Buffer[];
      readonly answer: Record<string, unknown>;
    },
  ) => Promise<readonly (string | undefined)[]>;
}

/** The secrets that a response issues: one, or one per item of a list. */
type SecretsOf<Field extends string, Request, Context extends Call> =
  | { readonly secret?: IssuedSecret<Field, Request, Context>; readonly secrets?: never }
  | { readonly secret?: never; readonly secrets?: ListedSecrets<Field, Request, Context> };

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
  readonly secrets?: Omit<ListedSecrets<string, RawInput, AnyCall>, "list" | "reissue"> & {
    readonly list: string | undefined;
    readonly reissue: (
      ...args: Parameters<ListedSecrets<string, RawInput, AnyCall>["reissue"]>
    ) => Promise<readonly (Reissued | undefined)[]>;
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
      facts.method === "GET" && !secret && !secrets && schema !== undefined && "data" in schema.shape,
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
              const reissueOne = async (hash: Buffer) =>
                toReissued(secret.member, await secret.reissue(parse(raw), own, { ...issued, hash }));
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
            reissue: async (raw, call, issued) => {
              const reissued = await secrets.reissue(parse(raw), call as CallOf<Allowed>, issued);
              return reissued.map((secret) => toReissued(secrets.member, secret));
            },
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

function toReissued(member: string, reissued: string | Reissued | undefined): Reissued | undefined {
  return typeof reissued === "string" ? { [member]: reissued } : reissued;
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
