import { type RawBuilder, sql } from "kysely";
import type { AuditAction } from "./audit-actions.ts";
import { containsText } from "./contains-text.ts";
import type { WebhookId } from "./ids.ts";
import { cutPage, type Order, type Page } from "./page.ts";
import type { DisabledReason } from "./schema/webhooks.ts";
import { isAtVersion, type Versions } from "./versions.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** What people edit of a webhook. */
export interface WebhookFields {
  readonly url: string;
  readonly description: string;
  /** The actions whose events are sent; null for all, including future ones. */
  readonly actions: readonly AuditAction[] | null;
}

/** A URL of a workspace to which its audit events are sent. */
export interface Webhook extends WebhookFields {
  readonly id: WebhookId;
  readonly disabledAt: Date | null;
  readonly disabledReason: DisabledReason | null;
  /** The time of the first failed attempt since the last successful one or the last change of the URL; null if none has failed. */
  readonly failingSince: Date | null;
  /** Whether an attempt in the last hour was slow. */
  readonly isSlow: boolean;
  /** When the overlap of the old secret ends; null if there is none, or it has ended. */
  readonly formerSecretExpiresAt: Date | null;
  readonly createdAt: Date;
  readonly version: number;
}

const columns = [
  "webhooks.id",
  "webhooks.url",
  "webhooks.description",
  "webhooks.actions",
  "webhooks.disabled_at as disabledAt",
  "webhooks.disabled_reason as disabledReason",
  "webhooks.failing_since as failingSince",
  sql<boolean>`coalesce(webhooks.slow_until > clock_timestamp(), false)`.as("isSlow"),
  sql<Date | null>`case when webhooks.former_secret_expires_at > clock_timestamp()
    then webhooks.former_secret_expires_at end`.as("formerSecretExpiresAt"),
  "webhooks.created_at as createdAt",
  "webhooks.version",
] as const;

/**
 * Adds a webhook.
 * @param webhook.secret encrypted.
 */
export async function insertWebhook(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  webhook: WebhookFields & { readonly id: WebhookId; readonly secret: Buffer },
): Promise<Webhook> {
  return await trx
    .insertInto("webhooks")
    .values({ ...webhook, workspace_id: scope.workspaceId })
    .returning(columns)
    .executeTakeFirstOrThrow();
}

/** Whether a webhook sends messages: `failing` if its last attempt failed. */
export const webhookStatuses = ["enabled", "failing", "disabled"] as const;

export interface WebhookFilter {
  /** A part of a URL or a description, in any letter case. */
  readonly search?: string | undefined;
  readonly status?: (typeof webhookStatuses)[number] | undefined;
}

export async function countWebhooks(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  filter: WebhookFilter = {},
): Promise<number> {
  const { count } = await trx
    .selectFrom("webhooks")
    .select((eb) => eb.fn.countAll<number>().as("count"))
    .where("workspace_id", "=", scope.workspaceId)
    .where(matches(filter))
    .executeTakeFirstOrThrow();
  return count;
}

function matches({ search = "", status }: WebhookFilter): RawBuilder<boolean> {
  const isFailing = sql`webhooks.failing_since is not null`;
  const conditions = [
    // A search can't contain the separator.
    ...(search === "" ? [] : [containsText(sql`webhooks.url || chr(31) || webhooks.description`, search)]),
    ...(status ? [sql`(webhooks.disabled_at is not null) = ${status === "disabled"}`] : []),
    ...(status === "failing" ? [isFailing] : []),
    ...(status === "enabled" ? [sql`not ${isFailing}`] : []),
  ];
  return conditions.length === 0 ? sql<boolean>`true` : sql<boolean>`(${sql.join(conditions, sql` and `)})`;
}

export const webhookOrders = {
  createdAt: { column: "webhooks.created_at", type: "timestamptz", id: "webhooks.id" },
  url: { column: "webhooks.url", type: "text", id: "webhooks.id" },
} as const satisfies Record<string, Order>;

/** Returns a page of a workspace's webhooks. */
export async function listWebhooks(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  {
    sort,
    filter = {},
    ...page
  }: Page & { readonly sort: keyof typeof webhookOrders; readonly filter?: WebhookFilter },
): Promise<(Webhook & { position: string })[]> {
  const query = trx
    .selectFrom("webhooks")
    .select(columns)
    .where("workspace_id", "=", scope.workspaceId)
    .where(matches(filter));
  return await cutPage(query, webhookOrders[sort], page).execute();
}

export async function findWebhook(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: WebhookId,
): Promise<Webhook | undefined> {
  return await trx
    .selectFrom("webhooks")
    .select(columns)
    .where("workspace_id", "=", scope.workspaceId)
    .where("id", "=", id)
    .executeTakeFirst();
}

/** Locks a webhook until the transaction ends. Returns undefined if it doesn't exist. */
export async function lockWebhook(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: WebhookId,
): Promise<Webhook | undefined> {
  return await trx
    .selectFrom("webhooks")
    .select(columns)
    .where("workspace_id", "=", scope.workspaceId)
    .where("id", "=", id)
    .forNoKeyUpdate()
    .executeTakeFirst();
}

/**
 * Changes a webhook. Enabling it clears earlier failures, and so does another URL, which was neither failing nor slow.
 * @returns undefined if it is at none of `versions`.
 */
export async function updateWebhook(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: WebhookId,
  change: {
    readonly fields: Partial<WebhookFields>;
    readonly isDisabled?: boolean | undefined;
    readonly versions: Versions;
  },
): Promise<Webhook | undefined> {
  const { fields, isDisabled, versions } = change;
  return await trx
    .updateTable("webhooks")
    .set((eb) => ({
      ...fields,
      // In an assignment, `url` is the former URL.
      ...(fields.url !== undefined && {
        failing_since: sql<Date | null>`case when url = ${fields.url} then failing_since end`,
        slow_until: sql<Date | null>`case when url = ${fields.url} then slow_until end`,
      }),
      ...(isDisabled === true && {
        disabled_at: sql<Date>`coalesce(disabled_at, clock_timestamp())`,
        disabled_reason: sql<DisabledReason>`coalesce(disabled_reason, 'user')`,
      }),
      ...(isDisabled === false && { disabled_at: null, disabled_reason: null, failing_since: null }),
      version: eb("version", "+", 1),
    }))
    .where("workspace_id", "=", scope.workspaceId)
    .where("id", "=", id)
    .where(isAtVersion(versions))
    .returning(columns)
    .executeTakeFirst();
}

/**
 * Deletes a webhook. A trigger records the deletion, and the purge deletes its deliveries, of which there can be
 * millions. Returns false if it is at none of `versions`.
 */
export async function deleteWebhook(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: WebhookId,
  versions: Versions,
): Promise<boolean> {
  const { numDeletedRows } = await trx
    .deleteFrom("webhooks")
    .where("workspace_id", "=", scope.workspaceId)
    .where("id", "=", id)
    .where(isAtVersion(versions))
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** The encrypted secrets that sign messages now: the current one first. */
export async function readWebhookSecrets(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: WebhookId,
): Promise<readonly Buffer[]> {
  const row = await trx
    .selectFrom("webhooks")
    .select([
      "secret",
      sql<Buffer | null>`case when former_secret_expires_at > clock_timestamp() then former_secret end`.as(
        "former",
      ),
    ])
    .where("workspace_id", "=", scope.workspaceId)
    .where("id", "=", id)
    .executeTakeFirst();
  return row ? [row.secret, ...(row.former ? [row.former] : [])] : [];
}

/**
 * Replaces the secret of a webhook.
 * @param rotation.overlapSeconds how long the replaced secret also signs messages; undefined to leave the old secret of
 *   the last rotation and its overlap unchanged.
 */
export async function replaceWebhookSecret(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  id: WebhookId,
  { secret, overlapSeconds }: { readonly secret: Buffer; readonly overlapSeconds: number | undefined },
): Promise<Webhook> {
  return await trx
    .updateTable("webhooks")
    .set((eb) => ({
      secret,
      ...(overlapSeconds === 0 && { former_secret: null, former_secret_expires_at: null }),
      ...(overlapSeconds && {
        former_secret: eb.ref("secret"),
        former_secret_expires_at: sql<Date>`clock_timestamp() + make_interval(secs => ${overlapSeconds})`,
      }),
      version: eb("version", "+", 1),
    }))
    .where("workspace_id", "=", scope.workspaceId)
    .where("id", "=", id)
    .returning(columns)
    .executeTakeFirstOrThrow();
}
