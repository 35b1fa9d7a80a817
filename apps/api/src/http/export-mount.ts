import type { FairSemaphore } from "@latchkey/auth/fair-semaphore";
import type { Permission } from "@latchkey/auth/permissions";
import { requireWorkspaceAccess } from "@latchkey/auth/workspace-access";
import type { UserId, WorkspaceId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import type { WorkspaceScope } from "@latchkey/db/workspace-scope";
import { AppError } from "@latchkey/errors";
import type { Context, Middleware } from "koa";
import type { z } from "zod";
import { requireExportAccess } from "../domain/require-export-access.ts";
import type { Services } from "../domain/services.ts";
import { signInRequired } from "../domain/sign-in-required.ts";
import { clientAddress } from "./client-address.ts";
import { readJsonBody } from "./json-body.ts";
import { openExport } from "./open-exports.ts";
import { parseInput } from "./parse-input.ts";
import { writeReply } from "./reply.ts";
import { requireSameOrigin } from "./same-site.ts";
import { fileReply, openFile, type StreamedFile } from "./streamed-file.ts";
import { toHeaders } from "./to-headers.ts";

/** What an export reads with. */
export interface ExportCall {
  readonly scope: WorkspaceScope;
  /** Runs the reads of one part of the file, as one of the user's concurrent reads. */
  readonly read: <Result>(work: (db: Db) => Promise<Result>) => Promise<Result>;
  /** Checks before each part that the user may still read the data. @throws {AppError} FORBIDDEN */
  readonly requireAccess: (db: Db) => Promise<void>;
}

/** A file of data of a workspace that the web app downloads. */
export interface FileExport {
  readonly path: string;
  readonly permission: Permission;
  readonly body: z.ZodObject;
  readonly open: (input: never, call: ExportCall) => StreamedFile;
}

/** Declares an export, with the type of its input. */
export function defineExport<Body extends z.ZodObject>(
  declaration: Omit<FileExport, "body" | "open"> & {
    readonly body: Body;
    readonly open: (input: z.output<Body>, call: ExportCall) => StreamedFile;
  },
): FileExport {
  return declaration;
}

interface MountOptions {
  readonly services: Services;
  readonly reads: FairSemaphore<string>;
  /** From `createExportSemaphore`. */
  readonly exports: FairSemaphore<UserId>;
}

/**
 * Streams files to the web app, which tRPC can't do. Like tRPC, it accepts the session cookie only with the web app's origin and
 * a JSON body, which no page of another site can send.
 */
export function exportMount(files: readonly FileExport[], options: MountOptions): Middleware {
  const byPath = new Map(files.map((fileExport) => [fileExport.path, fileExport]));
  return async (ctx, next) => {
    const fileExport = byPath.get(ctx.path);
    if (!fileExport) return await next();
    await sendExport(ctx, fileExport, options);
  };
}

async function sendExport(
  ctx: Context,
  { body, permission, open }: FileExport,
  { services, reads, exports }: MountOptions,
): Promise<void> {
  if (ctx.method !== "POST") throw new AppError("METHOD_NOT_SUPPORTED", { headers: { Allow: "POST" } });
  requireSameOrigin(ctx.method, ctx.headers, services.baseUrl);
  if (ctx.request.type !== "application/json") throw new AppError("UNSUPPORTED_MEDIA_TYPE");
  const address = clientAddress(ctx.req, services.isTrustedProxy) ?? null;
  const session = await services.sessions.find({ headers: toHeaders(ctx.headers), address });
  if (!session) throw signInRequired();
  const raw = await readJsonBody(ctx.req);
  const parsed = parseInput({ body }, { params: {}, query: {}, body: raw });
  const input = parsed.body as { readonly workspaceId: WorkspaceId }; // Every export's schema has it.
  const userId = session.user.id;
  const read: ExportCall["read"] = (work) =>
    reads.run(userId, performance.now() + services.deadlines.queueMs, () =>
      services.readDb.connection().execute(work),
    );
  const caller = {
    userId,
    workspaceId: input.workspaceId,
    hasSecondFactor: session.hasSecondFactor,
  };
  const { scope } = await read((db) => requireWorkspaceAccess(db, caller, permission));
  const actor = {
    kind: "session",
    userId,
    sessionId: session.id,
    isRecentlyAuthenticated: session.isRecentlyAuthenticated,
  } as const;
  const requireAccess = (db: Db) => requireExportAccess(db, scope, { actor, address, permission });
  const file = await openExport(
    exports,
    { userId, res: ctx.res },
    () => openFile(open(input as never, { scope, read, requireAccess })), // Parsed by its schema.
  );
  for (const cookie of session.cookies) ctx.res.appendHeader("Set-Cookie", cookie);
  ctx.respond = false;
  await writeReply(ctx.res, fileReply(ctx.requestId, file));
}
