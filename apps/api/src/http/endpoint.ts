import type { Permission } from "@latchkey/auth/permissions";
import type { Principal } from "@latchkey/auth/verdict";
import type { WorkspaceAccess } from "@latchkey/auth/workspace-access";
import type { Origin } from "@latchkey/db/audit-actions";
import type { Db, Trx } from "@latchkey/db/schema";
import type { ErrorCode } from "@latchkey/errors";
import type { z } from "zod";
import type { Instance } from "../domain/instance.ts";
import { andThen } from "./and-then.ts";
import type { Deprecation } from "./deprecation.ts";
import { parseInput, type RawInput, type RequestParts } from "./parse-input.ts";

/**
 * Who may call an endpoint. `key`: whoever holds a good API key. `unrestricted-key`: the same, except a key that is held to
 * workspaces, permissions or reading. `workspace`: a key that has this permission, and its user too, in the workspace that
 * the path names with `:workspaceId`. It has no default: an endpoint says it or does not compile.
 */
export type Access = "key" | "unrestricted-key" | { readonly workspace: Permission };

/** What a handler gets beside its input. */
export interface Call {
  /** Without the database, which `read` and `transact` lead to. */
  readonly instance: Omit<Instance, "db" | "readDb">;
  readonly principal: Principal;
  /** Who asks, from where, for the audit log. */
  readonly origin: Origin;
  /** When the request arrived, by this node's clock. */
  readonly now: Date;
  /**
   * Whether the secret of this request has made the same request before, under the same `Idempotency-Key`, and it was
   * carried out. What may be done then to repeat it may not be done to begin anew.
   */
  readonly isOwnRetry: boolean;
  /** The versions that `If-Match` allows; undefined where it was not sent, or allows any. */
  readonly ifMatch: readonly number[] | undefined;
  /**
   * Reads from the database on one connection, when it is the user's turn. Postgres cancels a statement after a second
   * and rejects every change.
   */
  readonly read: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;
  /**
   * The request's unit of work: everything it changes goes through here, once. A request that its client gave a name is
   * recorded in the same transaction.
   */
  readonly transact: <Result>(work: (trx: Trx) => Promise<Result>) => Promise<Result>;
}

/** A call to an endpoint that asks for a workspace, with what admission found there. */
export interface WorkspaceCall extends Call {
  readonly access: WorkspaceAccess;
}

/** A call to any endpoint; `access` is there where that one asks for a workspace. */
export type AnyCall = Call & Partial<WorkspaceCall>;

/** What an endpoint answers when all is well. */
export type EndpointResponse<Schema extends z.ZodObject = z.ZodObject> =
  | {
      readonly status: 200 | 201;
      readonly schema: Schema;
      /** Whether the answer has a `version`, and with it an `ETag`. A GET then heeds `If-Match` and `If-None-Match`. */
      readonly hasEtag?: boolean;
      /** Members, at any depth, that change without another `ETag`. */
      readonly notInEtag?: readonly string[];
    }
  | { readonly status: 204; readonly schema?: undefined };

/**
 * A secret that an answer issues. It is shown once and kept nowhere, so that a repeated request can't get it again: it
 * gets another one, or none (docs/decisions/0026). The answer has a `secretStatus` beside it.
 */
interface IssuedSecret<Member extends string, Request> {
  /** The member of the answer that holds it. */
  readonly member: Member;
  /**
   * Replaces the secret that the first answer issued, in the transaction of the repeated request.
   * @param issued.hash SHA-256 of that secret.
   * @returns the new secret; undefined when that one was used, or isn't current any more.
   */
  readonly reissue: (
    request: Request,
    call: Call,
    issued: { readonly trx: Trx; readonly hash: Buffer },
  ) => Promise<string | undefined>;
}

/** One operation of the open API: the router, the OpenAPI document and the tests all read this. */
export interface Endpoint {
  readonly method: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** Under `/open`, with parameters as `:workspaceId`. */
  readonly path: `/${string}`;
  /** Unique; generated clients name their function after it. */
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly access: Access;
  /** Whether its path stands for something else with each key. */
  readonly isAboutKey?: boolean;
  readonly request: RequestParts;
  readonly response: EndpointResponse;
  readonly secret?: IssuedSecret<string, RawInput>;
  /** What it answers beside the errors that every endpoint has. */
  readonly errors: readonly ErrorCode[];
  /** Whether long answers may be compressed: lists, which hold no secret. */
  readonly isCompressible: boolean;
  /** Set once clients should use something else (docs/api-changes.md). */
  readonly deprecated?: Deprecation;
  /**
   * Checks what admission cannot, in the transaction of a change and before it; also of a request that comes again.
   * Parses the raw parts of a request.
   */
  readonly authorise?: (raw: RawInput, call: Call, trx: Trx) => Promise<void>;
  /** Parses the raw parts of a request, runs the handler, strips the answer. */
  readonly run: (raw: RawInput, call: AnyCall) => Answer | Promise<Answer>;
}

/** The body of an answer, with nothing in it that the response's schema does not name; undefined for none. */
export type Answer = Record<string, unknown> | undefined;

type Parsed<Parts extends RequestParts> = {
  readonly [Part in keyof Parts]: Parts[Part] extends z.ZodType ? z.output<Parts[Part]> : undefined;
};

/**
 * Declares an endpoint. The handler is: parsed input → domain call → presenter. One that asks nobody answers at
 * once, without a promise, and is spared the deadline.
 */
export function defineEndpoint<
  Parts extends RequestParts,
  Schema extends z.ZodObject,
  Allowed extends Access,
  Response extends EndpointResponse<Schema>,
>(
  declaration: Omit<
    Endpoint,
    "run" | "isCompressible" | "authorise" | "request" | "response" | "access" | "secret"
  > & {
    readonly access: Allowed;
    readonly request: Parts;
    readonly response: Response;
    readonly secret?: IssuedSecret<keyof Input<Response> & string, Parsed<Parts>>;
    /** Runs in the transaction, before what the handler does there. @throws what refuses the request. */
    readonly authorise?: (input: Parsed<Parts>, call: Call, trx: Trx) => Promise<void>;
    readonly handle: (
      input: Parsed<Parts>,
      call: Allowed extends string ? Call : WorkspaceCall,
    ) => Input<Response> | Promise<Input<Response>>;
  },
): Endpoint {
  const { handle, authorise, secret, ...facts } = declaration;
  const { schema } = facts.response;
  const strip = (answer: unknown): Answer => schema?.parse(answer);
  const parse = (raw: RawInput) => parseInput(facts.request, raw) as Parsed<Parts>; // Each part by its own schema.
  return {
    ...facts,
    isCompressible: facts.method === "GET" && !secret && schema !== undefined && "data" in schema.shape,
    ...(authorise ? { authorise: (raw, call, trx) => authorise(parse(raw), call, trx) } : {}),
    ...(secret
      ? { secret: { ...secret, reissue: (raw, call, issued) => secret.reissue(parse(raw), call, issued) } }
      : {}),
    run(raw, call) {
      const input = parse(raw);
      const transact: Call["transact"] = (work) =>
        call.transact(async (trx) => {
          await authorise?.(input, call, trx);
          return await work(trx);
        });
      // Admission gave `access` where the declaration asks for a workspace.
      return andThen(handle(input, (authorise ? { ...call, transact } : call) as WorkspaceCall), strip);
    },
  };
}

type Input<Response extends EndpointResponse> = Response extends { readonly schema: z.ZodObject }
  ? z.input<Response["schema"]>
  : undefined;
