import type { Origin } from "@latchkey/db/audit-actions";
import type { NoticeId, UserId } from "@latchkey/db/ids";
import { type NoticeKind, securityNoticeKinds } from "@latchkey/db/notice-kinds";
import {
  findNotice,
  listNoticeSettings,
  markAllNoticesRead,
  markNoticeRead,
  type Notice,
  type NoticeSetting,
  storeNoticeSetting,
} from "@latchkey/db/notices";
import type { Trx } from "@latchkey/db/schema";
import { appendSecurityEvent } from "@latchkey/db/security-events";
import { AppError } from "@latchkey/errors";
import { type AccountEdit, lockAccount } from "./account.ts";
import { consumeAccountChangeQuota } from "./account-change-quota.ts";
import { requireRecentAuthentication } from "./require-recent-authentication.ts";
import { requireStillActing } from "./require-still-acting.ts";

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

/** A change of one channel of one kind, or of both. */
type SettingChange = Pick<NoticeSetting, "kind"> & {
  readonly [Channel in "inApp" | "byEmail"]?: boolean | undefined;
};

/**
 * Changes how the user gets notices of one kind, and records it in the security log.
 * @throws {AppError} UNAUTHORIZED if the session has ended; FORBIDDEN without recent authentication, to turn off a channel
 *   of one of the {@link securityNoticeKinds}; TOO_MANY_REQUESTS.
 */
export async function changeNoticeSetting(
  trx: Trx,
  edit: AccountEdit,
  { kind, inApp, byEmail }: SettingChange,
): Promise<void> {
  const { userId, origin } = edit;
  await lockAccount(trx, edit);
  const former = (await listNoticeSettings(trx, userId)).find((setting) => setting.kind === kind);
  if (!former) throw new Error(`There is no setting for notices of the kind ${kind}.`);
  const setting = { kind, inApp: inApp ?? former.inApp, byEmail: byEmail ?? former.byEmail };
  const changed = (["inApp", "byEmail"] as const).filter((channel) => setting[channel] !== former[channel]);
  if (changed.length === 0) return;
  const isSecurityNotice = (securityNoticeKinds as readonly NoticeKind[]).includes(kind);
  if (isSecurityNotice && changed.some((channel) => former[channel])) requireRecentAuthentication(origin);
  await consumeAccountChangeQuota(trx, userId);
  await storeNoticeSetting(trx, userId, setting);
  const valuesOf = (values: NoticeSetting) =>
    Object.fromEntries(changed.map((channel) => [channel, values[channel]]));
  await appendSecurityEvent(trx, origin, {
    userId,
    action: "notice-setting.changed",
    before: { kind, ...valuesOf(former) },
    after: { kind, ...valuesOf(setting) },
  });
}

/** The kinds of notices that the actor can't mark as read. */
function kindsKeptUnread({ actor }: Origin): readonly NoticeKind[] {
  return actor.kind === "key" ? securityNoticeKinds : [];
}
