import { type SelectQueryBuilder, sql } from "kysely";
import { createId, type NoticeId, type UserId } from "./ids.ts";
import { sendsEmail } from "./instance-settings.ts";
import { addJob } from "./jobs/add-job.ts";
import { type NoticeContent, type NoticeKind, noticeKinds } from "./notice-kinds.ts";
import { cutPage, type Order, type Page } from "./page.ts";
import type { Database, Db, Trx } from "./schema.ts";

/** How long a notice is kept, in days. */
export const noticeLifetimeDays = 90;

/**
 * How often a job that emails notices is attempted: for about ten hours. A notice that is older than a day is not
 * emailed.
 */
const maxEmailAttempts = 11;

export type Notice = NoticeContent & {
  readonly id: NoticeId;
  readonly createdAt: Date;
  readonly readAt: Date | null;
};

export type NewNotice = NoticeContent & {
  readonly userId: UserId;
  /** What the notice is about. A user gets one notice per kind and subject. */
  readonly subject: string;
  /** Whether it is stored only so that it is not created again, and neither shown nor emailed. */
  readonly isHidden?: boolean;
  /** Whether it is shown instead of emailed, even if the user chose to get it only by email. */
  readonly isAppOnly?: boolean;
};

/**
 * Creates notices, in the transaction of what they are about, and adds the jobs that email them. Ignores notices that
 * exist, and notices to service accounts. Notices are emailed only to verified email addresses. The users' settings
 * decide whether a notice is shown and, on an instance that sends email, whether it is emailed; a notice that is
 * neither shown nor emailed is stored too, so that it is not created again later.
 */
export async function addNotices(trx: Trx, notices: readonly NewNotice[]): Promise<void> {
  if (notices.length === 0) return;
  const { rows } = await sql<{ userId: UserId }>`
    with added as (
      insert into notices (id, user_id, kind, subject, facts, is_shown, is_email_due)
      select item.id, item.user_id, item.kind, item.subject, item.facts,
        not item.is_hidden and (coalesce(setting.in_app, true) or item.is_app_only and choice.is_emailed),
        not item.is_hidden and not item.is_app_only and choice.is_emailed
      from unnest(
        ${notices.map(() => createId("notice"))}::uuid[], ${notices.map(({ userId }) => userId)}::uuid[],
        ${notices.map(({ kind }) => kind)}::text[], ${notices.map(({ subject }) => subject)}::text[],
        ${notices.map(({ facts }) => JSON.stringify(facts))}::jsonb[],
        ${notices.map(({ isHidden = false }) => isHidden)}::boolean[],
        ${notices.map(({ isAppOnly = false }) => isAppOnly)}::boolean[]
      ) as item (id, user_id, kind, subject, facts, is_hidden, is_app_only)
      join users on users.id = item.user_id and users.service_workspace_id is null
      left join notice_settings setting on setting.user_id = item.user_id and setting.kind = item.kind
      cross join lateral (
        -- The email with the link is the notice of an invitation.
        select item.kind <> 'invitation' and coalesce(setting.by_email, true) and ${sendsEmail}
          -- Anyone can sign up with an email address that they can't read.
          and users.email_verified as is_emailed
      ) choice
      order by item.user_id, item.kind, item.subject
      on conflict (user_id, kind, subject) do nothing
      returning user_id, is_email_due
    )
    select distinct user_id as "userId" from added where is_email_due order by 1`.execute(trx);
  for (const { userId } of rows) await addEmailJob(trx, userId);
}

/** The key of the jobs that email notices begins with this, and ends with the ID of the user. */
const emailJobPrefix = "notices ";

/** One job per user, which a newer notice replaces. */
export async function addEmailJob(trx: Trx, userId: UserId): Promise<void> {
  const key = `${emailJobPrefix}${userId}`;
  await addJob(trx, "send-notices", { userId }, { key, maxAttempts: maxEmailAttempts });
}

/**
 * Adds jobs for users who have notices to be emailed and no job. A job that was replaced while it ran is not tried again, and
 * the job that replaced it skips the notice that the first one had claimed. Nothing else would send that notice if the first
 * job failed, or its node was killed. A job that exists stays as it is, with its pauses between attempts.
 * @param limit the most jobs.
 * @returns how many jobs it added.
 */
export async function addMissingEmailJobs(db: Db, limit: number): Promise<number> {
  return await db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ userId: UserId }>`
      select distinct user_id as "userId" from notices
      where is_email_due and created_at > clock_timestamp() - interval '1 day'
        and (email_claimed_until is null or email_claimed_until <= clock_timestamp())
        and not has_job(${emailJobPrefix} || user_id)
      limit ${limit}`.execute(trx);
    for (const { userId } of rows) await addEmailJob(trx, userId);
    return rows.length;
  });
}

/** A notice that this process may email, and to whom. */
export interface ClaimedNotice {
  readonly notice: Notice;
  readonly email: string;
  readonly name: string;
}

/**
 * Claims a notice of a user that is to be emailed, for three minutes, so that no other job sends it: the oldest one, and last
 * those that failed before, so that one that the server never accepts doesn't delay the others. Notices that are older than a
 * day, or of a kind that the user no longer wants by email, are not emailed.
 */
export async function claimNotice(db: Db, userId: UserId): Promise<ClaimedNotice | undefined> {
  await sql`
    update notices set is_email_due = false
    where user_id = ${userId} and is_email_due and (
      created_at <= clock_timestamp() - interval '1 day'
      or exists (select from users where id = ${userId} and (disabled_at is not null or not email_verified))
      or exists (
        select from notice_settings setting
        where setting.user_id = notices.user_id and setting.kind = notices.kind and not by_email))`.execute(
    db,
  );
  const { rows } = await sql<Notice & Pick<ClaimedNotice, "email" | "name">>`
    with claimed as (
      update notices set email_claimed_until = clock_timestamp() + interval '3 minutes'
      where id = (
        select id from notices
        where user_id = ${userId} and is_email_due
          and (email_claimed_until is null or email_claimed_until <= clock_timestamp())
        order by email_claimed_until nulls first, created_at, id limit 1 for update skip locked
      )
      returning *
    )
    select claimed.id, kind, facts, claimed.created_at as "createdAt", read_at as "readAt", email, name
    from claimed join users on users.id = claimed.user_id`.execute(db);
  const [row] = rows;
  if (!row) return undefined;
  const { email, name, ...notice } = row;
  return { notice, email, name };
}

/** Ends the claim of a notice, which has been emailed or is to be emailed again. */
export async function releaseNotice(db: Db, id: NoticeId, outcome: "sent" | "failed"): Promise<void> {
  const now = sql<Date>`clock_timestamp()`;
  await db
    .updateTable("notices")
    .set(
      outcome === "sent"
        ? { email_claimed_until: null, is_email_due: false, emailed_at: now }
        : { email_claimed_until: now },
    )
    .where("id", "=", id)
    .execute();
}

/** How a user gets notices of one kind. */
export interface NoticeSetting {
  readonly kind: NoticeKind;
  readonly inApp: boolean;
  readonly byEmail: boolean;
}

/** Returns the settings of a user, one per kind. Without a stored setting, the user gets notices of the kind. */
export async function listNoticeSettings(db: Db, userId: UserId): Promise<NoticeSetting[]> {
  const rows = await db
    .selectFrom("notice_settings")
    .select(["kind", "in_app as inApp", "by_email as byEmail"])
    .where("user_id", "=", userId)
    .execute();
  const stored = new Map(rows.map((row) => [row.kind, row]));
  return noticeKinds.map((kind) => stored.get(kind) ?? { kind, inApp: true, byEmail: true });
}

/** Stores how a user gets notices of one kind. */
export async function storeNoticeSetting(
  db: Db,
  userId: UserId,
  { kind, inApp, byEmail }: NoticeSetting,
): Promise<void> {
  const channels = { in_app: inApp, by_email: byEmail };
  await db
    .insertInto("notice_settings")
    .values({ user_id: userId, kind, ...channels })
    .onConflict((conflict) => conflict.columns(["user_id", "kind"]).doUpdateSet(channels))
    .execute();
}

/** Whether the owner of this confirmed email address has turned off emails for invitations. */
export async function hasTurnedOffInvitations(db: Db, email: string): Promise<boolean> {
  const row = await db
    .selectFrom("users")
    .innerJoin("notice_settings", "notice_settings.user_id", "users.id")
    .select("users.id")
    .where("users.email", "=", email)
    .where("users.email_verified", "=", true)
    .where("notice_settings.kind", "=", "invitation")
    .where("notice_settings.by_email", "=", false)
    .executeTakeFirst();
  return row !== undefined;
}

export const noticeOrders = {
  createdAt: { column: "notices.created_at", type: "timestamptz", id: "notices.id" },
} as const satisfies Record<string, Order>;

const columns = [
  "notices.id",
  "notices.kind",
  "notices.facts",
  "notices.created_at as createdAt",
  "notices.read_at as readAt",
] as const;

/** Returns a page of the notices that the app shows to a user. */
export async function listNotices(
  db: Db,
  userId: UserId,
  {
    sort,
    isUnread,
    ...page
  }: Page & {
    readonly sort: keyof typeof noticeOrders;
    /** Only unread notices, or only read ones; both if it is undefined. */
    readonly isUnread: boolean | undefined;
  },
): Promise<(Notice & { position: string })[]> {
  const query = shownTo(db, userId)
    .select(columns)
    .$if(isUnread !== undefined, (all) => all.where("read_at", isUnread ? "is" : "is not", null));
  // The facts of a row belong to its kind.
  return (await cutPage(query, noticeOrders[sort], page).execute()) as (Notice & { position: string })[];
}

/** The most unread notices that are counted. */
export const maxUnreadCount = 100;

/** The number of unread notices of a user, up to {@link maxUnreadCount}. */
export async function countUnreadNotices(db: Db, userId: UserId): Promise<number> {
  const { count } = await db
    .selectFrom(
      shownTo(db, userId).select("id").where("read_at", "is", null).limit(maxUnreadCount).as("unread"),
    )
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return count;
}

/** Returns a notice that the app shows to a user. */
export async function findNotice(db: Db, userId: UserId, id: NoticeId): Promise<Notice | undefined> {
  const row = await shownTo(db, userId).select(columns).where("id", "=", id).executeTakeFirst();
  return row as Notice | undefined; // The facts of a row belong to its kind.
}

/** Marks one notice of a user as read, and returns it. Returns undefined if there is none with this ID. */
export async function markNoticeRead(db: Db, userId: UserId, id: NoticeId): Promise<Notice | undefined> {
  const row = await db
    .updateTable("notices")
    .set({ read_at: sql<Date>`coalesce(read_at, clock_timestamp())` })
    .where("user_id", "=", userId)
    .where("id", "=", id)
    .where("is_shown", "=", true)
    .returning(columns)
    .executeTakeFirst();
  return row as Notice | undefined; // The facts of a row belong to its kind.
}

/** Marks all notices of a user as read, except those of some kinds. */
export async function markAllNoticesRead(
  db: Db,
  userId: UserId,
  { except }: { readonly except: readonly NoticeKind[] },
): Promise<void> {
  await db
    .updateTable("notices")
    .set({ read_at: sql<Date>`clock_timestamp()` })
    .where("user_id", "=", userId)
    .where("is_shown", "=", true)
    .where("read_at", "is", null)
    .$if(except.length > 0, (query) => query.where("kind", "not in", except))
    .execute();
}

function shownTo(db: Db, userId: UserId): SelectQueryBuilder<Database, "notices", object> {
  return db.selectFrom("notices").where("user_id", "=", userId).where("is_shown", "=", true);
}
