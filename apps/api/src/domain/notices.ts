import type { Origin } from "@latchkey/db/audit-actions";
import type { NoticeId, UserId } from "@latchkey/db/ids";
import { markAllNoticesRead, markNoticeRead, type Notice } from "@latchkey/db/notices";
import type { Trx } from "@latchkey/db/schema";
import { AppError } from "@latchkey/errors";
import { requireStillActing } from "./workspaces.ts";

/** A user who changes their own notices. */
interface NoticeEdit {
  readonly userId: UserId;
  readonly origin: Origin;
}

/** Marks a notice of the actor as read. @throws {AppError} NOT_FOUND, FORBIDDEN */
export async function markAsRead(trx: Trx, { userId, origin }: NoticeEdit, id: NoticeId): Promise<Notice> {
  await requireStillActing(trx, origin, { requirement: "unrestricted" });
  const notice = await markNoticeRead(trx, userId, id);
  if (!notice) throw new AppError("NOT_FOUND", { message: "There is no such notice." });
  return notice;
}

/** Marks all notices of the actor as read. @throws {AppError} FORBIDDEN */
export async function markAllAsRead(trx: Trx, { userId, origin }: NoticeEdit): Promise<void> {
  await requireStillActing(trx, origin, { requirement: "unrestricted" });
  await markAllNoticesRead(trx, userId);
}
