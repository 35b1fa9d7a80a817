import type { ColumnType, Generated } from "kysely";
import type { AuditAction } from "../audit-actions.ts";
import type { AuditEventId, DeliveryId, WebhookId, WorkspaceId } from "../ids.ts";
import type { CreatedAt } from "./columns.ts";

// Webhooks and their deliveries.

/** A URL of a workspace to which its audit events are sent. */
export interface WebhookTable {
  workspace_id: WorkspaceId;
  id: WebhookId;
  url: string;
  description: string;
  /** The actions whose events are sent; null for all, including future ones. */
  actions: readonly AuditAction[] | null;
  /** The secret that signs messages, encrypted. */
  secret: Buffer;
  /** The secret before the last rotation, which also signs messages until its overlap ends. */
  former_secret: Buffer | null;
  former_secret_expires_at: Date | null;
  disabled_at: Date | null;
  /** Who or what disabled it: a user or the command, three days of failed attempts, or a response of 410. */
  disabled_reason: DisabledReason | null;
  /** The time of the first failed attempt since the last successful one or the last change of the URL; null if none has failed. */
  failing_since: Date | null;
  /** Until when its messages are sent apart from those of fast webhooks; null if it was never slow. */
  slow_until: Date | null;
  created_at: CreatedAt;
  /** Incremented with every change to the settings. */
  version: Generated<number>;
}

export type DisabledReason = "user" | "failures" | "gone";

/** One event, or a test message, that is sent to one webhook until it succeeds. */
export interface WebhookDeliveryTable {
  workspace_id: WorkspaceId;
  id: DeliveryId;
  webhook_id: WebhookId;
  /** Null for a test message. */
  event_id: AuditEventId | null;
  action: AuditAction | "webhook.test";
  status: Generated<DeliveryStatus>;
  /** Since the delivery was created or last requested again. */
  attempt_count: Generated<number>;
  /** The last 50 attempts, oldest first. */
  attempts: ColumnType<readonly DeliveryAttempt[], never, never>;
  next_attempt_at: Date | null;
  created_at: CreatedAt;
}

/** A deleted webhook whose deliveries may not be purged yet. */
export interface DeletedWebhookTable {
  workspace_id: WorkspaceId;
  id: WebhookId;
  deleted_at: CreatedAt;
  /** When the purge looks for deliveries again. */
  next_purge_at: Generated<Date>;
}

export type DeliveryStatus = "pending" | "succeeded" | "failed";

/** Why a request to a webhook got no response; `restored`: none was made, because the restored backup had a pending delivery. */
export type DeliveryError =
  | "address_not_allowed"
  | "connection_failed"
  | "https_required"
  | "name_not_found"
  | "restored"
  | "timeout"
  | "tls_failed";

/** One request to a webhook. */
export interface DeliveryAttempt extends AttemptOutcome {
  /** When it began, by the database's clock, whenever it was recorded; in ISO 8601, in UTC. */
  readonly at: string;
}

/** How a request to a webhook ended. */
export interface AttemptOutcome {
  /** The HTTP status of the response; null if there was none. */
  readonly status: number | null;
  /** Why there was no response; null if there was one. */
  readonly error: DeliveryError | null;
  /** How long the request took, without the time that it waited to be recorded. */
  readonly durationMs: number;
}
