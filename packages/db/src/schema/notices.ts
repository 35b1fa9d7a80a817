import type { ColumnType } from "kysely";
import type { NoticeId, UserId } from "../ids.ts";
import type { NoticeFacts, NoticeKind } from "../notice-kinds.ts";
import type { CreatedAt } from "./columns.ts";

// Notices to users.

/** A notice to a user. */
export interface NoticeTable {
  id: NoticeId;
  user_id: UserId;
  kind: NoticeKind;
  /** What the notice is about. A user gets one notice per kind and subject. */
  subject: string;
  facts: ColumnType<NoticeFacts, string, never>;
  /** Whether the app shows it, by the user's settings when it was created. */
  is_shown: boolean;
  /** Whether it is still to be emailed. */
  is_email_due: boolean;
  /** When the claim of the job that sends the email ends, or when the last failed attempt ended. Null before the first attempt and after a successful one. */
  email_claimed_until: Date | null;
  emailed_at: Date | null;
  read_at: Date | null;
  created_at: CreatedAt;
}

/** How a user gets notices of one kind. Without a row, in the app and by email. */
export interface NoticeSettingTable {
  user_id: UserId;
  kind: NoticeKind;
  in_app: boolean;
  by_email: boolean;
}
