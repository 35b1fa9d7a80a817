import type { FairSemaphore } from "@latchkey/auth/fair-semaphore";
import type { Permission } from "@latchkey/auth/permissions";
import { requireWorkspaceAccess } from "@latchkey/auth/workspace-access";
import type { Origin } from "@latchkey/db/audit-actions";
import type { UserId } from "@latchkey/db/ids";
import type { Db, Trx } from "@latchkey/db/schema";
import { AppError, type ErrorCode, errorCatalogue } from "@latchkey/errors";
import { initTRPC, TRPCError } from "@trpc/server";
import { z } from "zod";
import type { Instance } from "../domain/instance.ts";
import { translateFailure } from "../failure.ts";
import { workspaceId } from "../fields.ts";
import { findNul } from "../find-nul.ts";
import type { ExplainRequest, Explanation, TriedRequest } from "../http/explain-request.ts";
import { describeIssues, toIssues } from "../issues.ts";

/** What every procedure gets. */
export interface Context {
  readonly instance: Instance;
  readonly requestId: string;
  /** The client's IP address, as this node sees it. */
  readonly address: string | null;
  /** The request's headers, for better-auth to read the cookie from. */
  readonly headers: Headers;
  /** Bounds the changes of one user that run at a time; acquired before a connection. */
  readonly changes: FairSemaphore<UserId>;
  /** Bounds the reads of one user that run at a time. */
  readonly reads: FairSemaphore<UserId>;
  /** Tells what a request to the open API would be answered. */
  readonly explain: ExplainRequest;
  /** Adds `Set-Cookie` values to the answer. */
  readonly setCookies: (cookies: readonly string[]) => void;
  /** Tells the browser to delete what the app has stored in it. */
  readonly clearSiteData: () => void;
}

const trpc = initTRPC.context<Context>().create({
  /** The only place where a failure gets its words for the web app: a code of the closed list, never an inner message. */
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
        ...(failure.retryAfterSeconds ? { retryAfterSeconds: failure.retryAfterSeconds } : {}),
      },
    };
  },
});

/**
 * What a tRPC error means to a client. tRPC's own refusals (no such procedure, wrong method) keep their code.
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

// Two of our codes may share one of tRPC's; the first one listed is meant.
const codeByTrpc = new Map<string, ErrorCode>(
  Object.entries(errorCatalogue)
    .map(([code, { trpc }]) => [trpc, code as ErrorCode] as const) // The catalogue's keys are the codes.
    .reverse(),
);

/** Turns what a procedure throws into tRPC's error for the same code, with our own as its cause. */
const translateFailures = trpc.middleware(async ({ next }) => {
  const result = await next();
  if (result.ok || result.error.code !== "INTERNAL_SERVER_ERROR") return result;
  const failure = translateFailure(result.error.cause);
  throw new TRPCError({ code: errorCatalogue[failure.code].trpc, cause: failure });
});

export const createRouter = trpc.router;

/**
 * Rejects U+0000 anywhere in an input, which Postgres can't store: a statement that contains it fails.
 * @throws {AppError} BAD_REQUEST
 */
function requireNoNul(input: unknown): void {
  const path = findNul(input);
  if (path === undefined) return;
  const message = "Remove the invisible characters.";
  throw new AppError("BAD_REQUEST", { issues: [{ path, code: "invalid_characters", message }] });
}

/** For everybody, signed in or not, and without an input; its body is not read. */
export const publicProcedure = trpc.procedure.use(translateFailures);

/** For everybody, with an input. */
export const publicInputProcedure = publicProcedure.use(async ({ next, getRawInput }) => {
  requireNoNul(await getRawInput());
  return await next();
});

/** How long a read or a change may wait for its turn, in milliseconds. */
const startWithinMs = 5_000;

/** Reads on one connection when it is this user's turn. A statement that takes longer than a second is cancelled. */
export async function readAs<Result>(
  { reads, instance: { readDb } }: Context,
  userId: UserId,
  work: (db: Db) => Promise<Result>,
): Promise<Result> {
  return await reads.run(userId, performance.now() + startWithinMs, () => readDb.connection().execute(work));
}

/** For whoever is signed in. @throws {AppError} UNAUTHORIZED without a live session. */
export const sessionProcedure = publicProcedure.use(async ({ ctx, next, getRawInput }) => {
  // The body first: who sends it late must not act by a session that has ended meanwhile.
  const input = await getRawInput();
  const session = await ctx.instance.sessions.find(ctx.headers);
  if (!session) throw new AppError("UNAUTHORIZED", { message: "Sign in to go on." });
  ctx.setCookies(session.cookies);
  requireNoNul(input);
  const { user } = session;
  const read = <Result>(work: (db: Db) => Promise<Result>): Promise<Result> => readAs(ctx, user.id, work);
  /** A unit of work of this person's. */
  const transact = <Result>(work: (trx: Trx) => Promise<Result>): Promise<Result> => {
    const { changes, instance } = ctx;
    return changes.run(user.id, performance.now() + startWithinMs, () =>
      instance.db.transaction().execute(work),
    );
  };
  const explain = (request: Omit<TriedRequest, "userId">): Promise<Explanation> =>
    ctx.reads.run(user.id, performance.now() + startWithinMs, () =>
      ctx.explain({ ...request, userId: user.id }),
    );
  // Whoever reads or changes something goes through the functions above.
  const instance: Omit<Instance, "db" | "readDb"> = ctx.instance;
  return await next({ ctx: { ...ctx, instance, user, read, transact, explain } });
});

/**
 * For members of a workspace who may do this, as the database has it now. Its input, made by {@link workspaceInput},
 * names the workspace.
 * @throws {AppError} UNAUTHORIZED without a live session, FORBIDDEN
 */
export function workspaceProcedure(permission: Permission) {
  return sessionProcedure.input(z.object({ workspaceId })).use(async ({ ctx, input, next }) => {
    const userId = ctx.user.id;
    const who = { userId, workspaceId: input.workspaceId };
    const access = await ctx.read((db) => requireWorkspaceAccess(db, who, permission));
    return await next({
      ctx: { ...ctx, access, edit: { scope: access.scope, origin: originOf(ctx, userId) } },
    });
  });
}

/** The input of a procedure in a workspace: which one, and what else it takes. The check has read the id already. */
export function workspaceInput<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject({ workspaceId: z.string(), ...shape });
}

/** Who makes a change in the web app, and from where. */
export function originOf(
  { address, requestId }: Pick<Context, "address" | "requestId">,
  userId: UserId,
): Origin {
  return { actor: { kind: "session", userId }, address, requestId };
}
