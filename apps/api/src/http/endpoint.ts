import type { Principal } from "@latchkey/auth/verdict";
import type { ErrorCode } from "@latchkey/errors";
import type { z } from "zod";
import type { Instance } from "../domain/instance.ts";
import { parseInput } from "./parse-input.ts";

/**
 * Who may call an endpoint. `key`: whoever holds a good API key. It has no default: an endpoint says it or does
 * not compile.
 */
export type Access = "key";

/** What a handler gets beside its input. */
export interface Call {
  readonly instance: Instance;
  readonly principal: Principal;
  /** When the request arrived, by this node's clock. */
  readonly now: Date;
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
  readonly request: RequestSchemas;
  readonly response: { readonly status: 200 | 201; readonly schema: z.ZodObject };
  /** What it answers beside the errors that every endpoint has. */
  readonly errors: readonly ErrorCode[];
  /** Parses the raw parts of a request, runs the handler, strips the answer. */
  readonly run: (raw: RawInput, call: Call) => Answer | Promise<Answer>;
}

/** The body of an answer, with nothing in it that the response's schema does not name. */
export type Answer = Record<string, unknown>;

/** Each part is a strict object, so that unknown members are refused. */
export interface RequestSchemas {
  readonly params?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
}

export interface RawInput {
  readonly params: unknown;
  readonly query: object;
  readonly body: unknown;
}

type Parsed<Schemas extends RequestSchemas> = {
  readonly [Part in keyof Schemas]: Schemas[Part] extends z.ZodType ? z.output<Schemas[Part]> : undefined;
};

/**
 * Declares an endpoint. The handler is: parsed input → domain call → presenter. One that asks nobody answers at
 * once, without a promise, and is spared the deadline.
 */
export function defineEndpoint<Schemas extends RequestSchemas, Response extends z.ZodObject>(
  declaration: Omit<Endpoint, "run" | "request" | "response"> & {
    readonly request: Schemas;
    readonly response: { readonly status: 200 | 201; readonly schema: Response };
    readonly handle: (input: Parsed<Schemas>, call: Call) => z.input<Response> | Promise<z.input<Response>>;
  },
): Endpoint {
  const { handle, ...facts } = declaration;
  const strip = (answer: z.input<Response>): Answer => facts.response.schema.parse(answer);
  return {
    ...facts,
    run(raw, call) {
      const input = parseInput(facts.request, raw) as Parsed<Schemas>; // Each part was parsed by its own schema.
      const answer = handle(input, call);
      return answer instanceof Promise ? answer.then(strip) : strip(answer);
    },
  };
}
