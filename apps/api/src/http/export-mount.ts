import type { FairSemaphore } from "@latchkey/auth/fair-semaphore";
import { requireWorkspaceAccess } from "@latchkey/auth/workspace-access";
import type { UserId } from "@latchkey/db/ids";
import type { Db } from "@latchkey/db/schema";
import { AppError } from "@latchkey/errors";
import type { Middleware } from "koa";
import { z } from "zod";
import { auditFilterInput, toAuditFilter } from "../audit-filter.ts";
import { readAuditLog, requireAuditAccess } from "../domain/audit-log.ts";
import type { Services } from "../domain/services.ts";
import { signInRequired } from "../domain/sign-in-required.ts";
import { workspaceId } from "../fields.ts";
import { exportFileName, exportFormats, exportTypes, formatAuditLog } from "../presenters/audit-export.ts";
import { clientAddress } from "./client-address.ts";
import { readJsonBody } from "./json-body.ts";
import { parseInput } from "./parse-input.ts";
import { writeReply } from "./reply.ts";
import { requireSameOrigin } from "./same-site.ts";
import { fileReply, openFile } from "./streamed-file.ts";
import { toHeaders } from "./to-headers.ts";

const mount = "/exports/audit-events";

const body = z.strictObject({ workspaceId, format: z.enum(exportFormats), ...auditFilterInput });

/** How long a page may wait in the user's queue, in milliseconds. */
const startWithinMs = 5_000;

/**
 * Streams audit logs to the web app, which tRPC can't do. Like tRPC, it accepts the session cookie only with the web app's
 * origin and a JSON body, which no page of another site can send.
 */
export function exportMount({
  services,
  reads,
}: {
  readonly services: Services;
  readonly reads: FairSemaphore<UserId>;
}): Middleware {
  return async (ctx, next) => {
    if (ctx.path !== mount) return await next();
    if (ctx.method !== "POST") throw new AppError("METHOD_NOT_SUPPORTED", { headers: { Allow: "POST" } });
    requireSameOrigin(ctx.method, ctx.headers, services.baseUrl);
    if (ctx.request.type !== "application/json") throw new AppError("UNSUPPORTED_MEDIA_TYPE");
    const raw = await readJsonBody(ctx.req);
    const address = clientAddress(ctx.req, services.isTrustedProxy) ?? null;
    const session = await services.sessions.find({ headers: toHeaders(ctx.headers), address });
    if (!session) throw signInRequired();
    const parsed = parseInput({ body }, { params: {}, query: {}, body: raw });
    const input = parsed.body as z.output<typeof body>; // Parsed by this schema.
    const userId = session.user.id;
    const read = <Result>(work: (db: Db) => Promise<Result>): Promise<Result> =>
      reads.run(userId, performance.now() + startWithinMs, () => services.readDb.connection().execute(work));
    const { hasSecondFactor } = session;
    const caller = { userId, workspaceId: input.workspaceId, hasSecondFactor };
    const { scope } = await read((db) => requireWorkspaceAccess(db, caller, "audit:read"));
    const actor = {
      kind: "session",
      userId,
      isRecentlyAuthenticated: session.isRecentlyAuthenticated,
    } as const;
    const pages = readAuditLog(read, { scope, filter: toAuditFilter(input) }, (db) =>
      requireAuditAccess(db, scope, { actor, address, session: { id: session.id, hasSecondFactor } }),
    );
    const file = await openFile({
      contentType: exportTypes[input.format],
      name: exportFileName(input.format, new Date()),
      chunks: formatAuditLog(pages, input.format),
    });
    for (const cookie of session.cookies) ctx.res.appendHeader("Set-Cookie", cookie);
    ctx.respond = false;
    await writeReply(ctx.res, fileReply(ctx.requestId, file));
  };
}
