import type { Origin } from "@latchkey/db/audit-actions";
import type { NoticeId, UserId } from "@latchkey/db/ids";
import { type NoticeKind, securityNoticeKinds } from "@latchkey/db/notice-kinds";
import { findNotice, markAllNoticesRead, markNoticeRead, type Notice } from "@latchkey/db/notices";
import type { Trx } from "@latchkey/db/schema";
import { AppError } from "@latchkey/errors";
import { requireStillActing } from "./workspaces.ts";

/** A user who changes their own notices. */
interface NoticeEdit {
  readonly userId: UserId;
  readonly origin: Origin;
}

/**
 * Marks a notice of the actor as read.
 * @throws {AppError} NOT_FOUND; FORBIDDEN, also for an API key if the notice is of one of the {@link securityNoticeKinds}.
 */
export async function markAsRead(trx: Trx, { userId, origin }: NoticeEdit, id: NoticeId): Promise<Notice> {
  await requireStillActing(trx, origin, { requirement: "unrestricted" });
  const notice = await findNotice(trx, userId, id);
  if (notice && kindsKeptUnread(origin).includes(notice.kind)) {
    const message =
      "A request with an API key can’t mark this kind of notice as read. Mark it as read in the web app.";
    throw new AppError("FORBIDDEN", { message });
  }
  const read = await markNoticeRead(trx, userId, id);
  if (!read) throw new AppError("NOT_FOUND", { message: "There is no such notice." });
  return read;
}

/**
 * Marks all notices of the actor as read, for an API key except the {@link securityNoticeKinds}.
 * @throws {AppError} FORBIDDEN
 */
export async function markAllAsRead(trx: Trx, { userId, origin }: NoticeEdit): Promise<void> {
  await requireStillActing(trx, origin, { requirement: "unrestricted" });
  await markAllNoticesRead(trx, userId, { except: kindsKeptUnread(origin) });
}

/** The kinds of notices that the actor can't mark as read. */
function kindsKeptUnread({ actor }: Origin): readonly NoticeKind[] {
  return actor.kind === "key" ? securityNoticeKinds : [];
}
