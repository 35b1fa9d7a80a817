import { networkOf } from "@latchkey/auth/client-network";
import type { FairSemaphore } from "@latchkey/auth/fair-semaphore";
import type { Permission } from "@latchkey/auth/permissions";
import type { Verifier } from "@latchkey/auth/verifier";
import { requireWorkspaceAccess } from "@latchkey/auth/workspace-access";
import type { Origin } from "@latchkey/db/audit-actions";
import type { SessionId, UserId } from "@latchkey/db/ids";
import type { Db, Trx } from "@latchkey/db/schema";
import { AppError, type ErrorCode, errorCatalog } from "@latchkey/errors";
import { initTRPC, TRPCError } from "@trpc/server";
import { z } from "zod";
import type { Services } from "../domain/services.ts";
import { requestOriginOf } from "../domain/sign-in-attempts.ts";
import { signInRequired } from "../domain/sign-in-required.ts";
import { translateFailure } from "../failure.ts";
import { workspaceId } from "../fields.ts";
import { findForbidden } from "../find-forbidden.ts";
import type { ExplainRequest, Explanation, TriedRequest } from "../http/explain-request.ts";
import { describeIssues, toIssues } from "../issues.ts";

/** The context of every procedure. */
export interface Context {
  readonly services: Services;
  readonly requestId: string;
  /** The client's IP address, as this node sees it. */
  readonly address: string | null;
  /** The request's headers, for better-auth to read the cookie from. */
  readonly headers: Headers;
  /** Limits the concurrent changes per user; acquired before a connection. */
  readonly changes: FairSemaphore<UserId>;
  /** Limits the concurrent reads per user, or per network without a session. */
  readonly reads: FairSemaphore<string>;
  /** A connection in the admission role, which can count memberships of all tenants. Only for operators. */
  readonly inspectionDb: Db;
  /** Determines the response that a request to the open API would get. */
  readonly explain: ExplainRequest;
  /** Verifies a key for a member, whose permission in the workspace was checked for this request. */
  readonly verify: Verifier["verifyWithoutKey"];
  /** Adds `Set-Cookie` values to the response. */
  readonly setCookies: (cookies: readonly string[]) => void;
  /** Makes the browser delete the app's stored data. */
  readonly clearSiteData: () => void;
}

const trpc = initTRPC.context<Context>().create({
  /**
   * The only place that formats errors for the web app: with a code of the closed list, never an internal message.
   */
  errorFormatter({ shape, error, ctx, input }) {
    const failure = toFailure(error, input);
    return {
      code: shape.code,
      message: failure.message,
      data: {
        code: failure.code,
        httpStatus: failure.status,
        requestId: ctx?.requestId ?? null,
        ...describeIssues(failure),
        ...(failure.pieces && { pieces: failure.pieces }),
        ...(failure.retryAfterSeconds ? { retryAfterSeconds: failure.retryAfterSeconds } : {}),
      },
    };
  },
});

/**
 * Converts a tRPC error to the error for the client. tRPC's own errors (unknown procedure, wrong method) keep their
 * code.
 * @param input the procedure's raw input, where there is one.
 */
export function toFailure(error: TRPCError, input?: unknown): AppError {
  if (error.cause instanceof AppError) return error.cause;
  if (error.cause instanceof z.ZodError) {
    return new AppError("BAD_REQUEST", { issues: toIssues(error.cause, input), cause: error });
  }
  const code = codeByTrpc.get(error.code) ?? "BAD_REQUEST";
  return new AppError(code, { cause: error.cause ?? error });
}

// Two codes of the catalog may map to the same tRPC code; the first one in the catalog wins.
const codeByTrpc = new Map<string, ErrorCode>(
  Object.entries(errorCatalog)
    .map(([code, { trpc }]) => [trpc, code as ErrorCode] as const) // The keys of the catalog are the codes.
    .reverse(),
);

/** Converts an error of a procedure to the tRPC error with the same code, with the original error as the cause. */
const translateFailures = trpc.middleware(async ({ next }) => {
  const result = await next();
  if (result.ok || result.error.code !== "INTERNAL_SERVER_ERROR") return result;
  const failure = translateFailure(result.error.cause);
  throw new TRPCError({ code: errorCatalog[failure.code].trpc, cause: failure });
});

export const createRouter = trpc.router;

/**
 * Rejects U+0000 and lone surrogates anywhere in an input, because a statement that contains them in JSON fails, and members
 * named `__proto__`, which JavaScript can take for the prototype.
 * @throws {AppError} BAD_REQUEST
 */
function requireNothingForbidden(input: unknown): void {
  const path = findForbidden(input);
  if (path === undefined) return;
  const message = "Remove the invisible and incomplete characters, and fields named __proto__.";
  throw new AppError("BAD_REQUEST", { issues: [{ path, code: "invalid_characters", message }] });
}

/** Needs no session and has no input; the body isn't read. */
export const publicProcedure = trpc.procedure.use(translateFailures);

/**
 * Reads on one connection, within the reader's limit of concurrent reads. Statements are canceled after one second.
 * @param reader the ID of the user, or the network of a visitor without a session.
 */
export async function readAs<Result>(
  { reads, services: { readDb, deadlines } }: Context,
  reader: string,
  work: (db: Db) => Promise<Result>,
): Promise<Result> {
  return await reads.run(reader, performance.now() + deadlines.queueMs, () =>
    readDb.connection().execute(work),
  );
}

/** Needs no session and has an input. Its reads are limited per network. */
export const publicInputProcedure = publicProcedure.use(async ({ ctx, next, getRawInput }) => {
  requireNothingForbidden(await getRawInput());
  const read = <Result>(work: (db: Db) => Promise<Result>): Promise<Result> =>
    readAs(ctx, networkOf(ctx.address), work);
  return await next({ ctx: { ...ctx, read } });
});

/** Needs a session. @throws {AppError} UNAUTHORIZED without a live session. */
export const sessionProcedure = publicProcedure.use(async ({ ctx, next, getRawInput }) => {
  // Reads the body before the session, so that a client that sends its body late can't use a session that has ended
  // since.
  const input = await getRawInput();
  const session = await ctx.services.sessions.find(ctx);
  if (!session) throw signInRequired();
  ctx.setCookies(session.cookies);
  requireNothingForbidden(input);
  const { user, id: sessionId, isRecentlyAuthenticated, hasSecondFactor } = session;
  const read = <Result>(work: (db: Db) => Promise<Result>): Promise<Result> => readAs(ctx, user.id, work);
  /** Runs a transaction within the user's limit of concurrent changes. */
  const transact = <Result>(work: (trx: Trx) => Promise<Result>): Promise<Result> => {
    const { changes, services } = ctx;
    return changes.run(user.id, performance.now() + services.deadlines.queueMs, () =>
      services.db.transaction().execute(work),
    );
  };
  const ownOwner = { userId: user.id, kind: "person" } as const;
  const explain = (
    request: Omit<TriedRequest, "owner">,
    owner: TriedRequest["owner"] = ownOwner,
  ): Promise<Explanation> =>
    ctx.reads.run(user.id, performance.now() + ctx.services.deadlines.queueMs, () =>
      ctx.explain({ ...request, owner }),
    );
  // Procedures have no direct access to the pools, so that every read and change is subject to the limits above.
  const services: Omit<Services, "db" | "readDb"> = ctx.services;
  return await next({
    ctx: {
      ...ctx,
      services,
      user,
      sessionId,
      isRecentlyAuthenticated,
      hasSecondFactor,
      read,
      transact,
      explain,
    },
  });
});

/**
 * Needs a permission in a workspace, which is checked in the database. The input, created by {@link workspaceInput},
 * names the workspace.
 * @param options.canLackSecondFactor whether a member may do it without a second factor that the workspace requires.
 * @throws {AppError} UNAUTHORIZED without a live session, FORBIDDEN
 */
export function workspaceProcedure(
  permission: Permission,
  { canLackSecondFactor = false }: { readonly canLackSecondFactor?: boolean } = {},
) {
  return sessionProcedure.input(z.object({ workspaceId })).use(async ({ ctx, input, next }) => {
    const userId = ctx.user.id;
    const { hasSecondFactor } = ctx;
    const caller = { userId, workspaceId: input.workspaceId, hasSecondFactor, canLackSecondFactor };
    const access = await ctx.read((db) => requireWorkspaceAccess(db, caller, permission));
    return await next({
      ctx: { ...ctx, access, edit: { scope: access.scope, origin: originOf(ctx, userId) } },
    });
  });
}

/**
 * The input of a procedure in a workspace: its ID, which `workspaceProcedure` has already decoded, and further fields.
 */
export function workspaceInput<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject({ workspaceId: z.string(), ...shape });
}

/** The origin of a change in the web app. */
export function originOf(
  ctx: Pick<Context, "address" | "requestId" | "headers"> & {
    readonly isRecentlyAuthenticated: boolean;
    readonly sessionId: SessionId;
  },
  userId: UserId,
): Origin {
  const { isRecentlyAuthenticated, sessionId } = ctx;
  return { actor: { kind: "session", userId, sessionId, isRecentlyAuthenticated }, ...requestOriginOf(ctx) };
}
