import { sql } from "kysely";
import type { WebhookId } from "./ids.ts";
import type { WorkspaceScope, WorkspaceTrx } from "./workspace-scope.ts";

/** Until how long after a slow attempt a webhook counts as slow, in minutes. */
const slowMinutes = 60;

/** A webhook, and the URL of an attempt. If the webhook has another URL by then, the attempt says nothing about it. */
export interface AttemptedWebhook {
  readonly id: WebhookId;
  readonly url: string;
}

/** Records that an attempt was slow. Not a change to the settings, so the version stays. */
export async function recordSlowAttempt(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { id, url }: AttemptedWebhook,
): Promise<void> {
  await trx
    .updateTable("webhooks")
    .set({ slow_until: sql<Date>`clock_timestamp() + make_interval(mins => ${slowMinutes})` })
    .where("workspace_id", "=", scope.workspaceId)
    .where("id", "=", id)
    .where("url", "=", url)
    .execute();
}

/** After how many days without a successful attempt a webhook is disabled. */
const maxFailingDays = 3;

/**
 * Records the outcome of an attempt. Disables a webhook that responded with 410 Gone, and one that has failed for three days as soon
 * as a message has failed on its last attempt. If any failed attempt did this, one message that failed long ago would prevent the
 * retries of the next one.
 * @param outcome `retried` for an attempt that failed and will be repeated.
 * @returns whether this disabled it.
 */
export async function recordOutcome(
  trx: WorkspaceTrx,
  scope: WorkspaceScope,
  { id, url }: AttemptedWebhook,
  outcome: "succeeded" | "retried" | "failed" | "gone",
): Promise<boolean> {
  if (outcome === "succeeded") {
    // Most attempts succeed after another success and change nothing.
    await trx
      .updateTable("webhooks")
      .set({ failing_since: null })
      .where("workspace_id", "=", scope.workspaceId)
      .where("id", "=", id)
      .where("url", "=", url)
      .where("failing_since", "is not", null)
      .execute();
    return false;
  }
  await trx
    .updateTable("webhooks")
    .set({ failing_since: sql<Date>`coalesce(failing_since, clock_timestamp())` })
    .where("workspace_id", "=", scope.workspaceId)
    .where("id", "=", id)
    .where("url", "=", url)
    .execute();
  if (outcome === "retried") return false;
  const { numUpdatedRows } = await trx
    .updateTable("webhooks")
    .set((eb) => ({
      disabled_at: sql<Date>`clock_timestamp()`,
      disabled_reason: outcome === "gone" ? "gone" : "failures",
      version: eb("version", "+", 1),
    }))
    .where("workspace_id", "=", scope.workspaceId)
    .where("id", "=", id)
    .where("url", "=", url)
    .where("disabled_at", "is", null)
    .$if(outcome === "failed", (query) =>
      query.where(
        sql<boolean>`failing_since <= clock_timestamp() - make_interval(days => ${maxFailingDays})`,
      ),
    )
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}
