import type { SealedSecrets } from "@latchkey/auth/sealed-secrets";
import type { DatabaseConnection } from "@latchkey/db/connection";
import { JobWorker } from "@latchkey/db/job-worker";
import { findNotices } from "@latchkey/db/notice-sources";
import type { Db } from "@latchkey/db/schema";
import { addInvitationNotice } from "./domain/invitation-jobs.ts";
import type { SendMessage } from "./webhooks/message-sender.ts";
import { createWebhookTasks, DeliveryFailedError } from "./webhooks/webhook-tasks.ts";

interface BackgroundJobOptions {
  readonly connection: DatabaseConnection;
  readonly db: Db;
  readonly secrets: SealedSecrets;
  readonly send: SendMessage;
  /** Called with each failure of a job, except for a message that a webhook didn't accept. */
  readonly onFailure: (error: unknown, job: string) => void;
  /** How many messages are sent at the same time to webhooks that aren't slow. */
  readonly fastDeliveries?: number;
  /** How many messages are sent at the same time to slow webhooks. */
  readonly slowDeliveries?: number;
}

/**
 * How often each of the workers of messages looks for retries that are due, in milliseconds. Each place of a worker does
 * this by itself, so that 40 places look ten times per second.
 */
const pollDeliveriesEveryMs = 4_000;

/**
 * Starts the workers of a node that send messages to webhooks and create notices. Messages to slow webhooks have a worker
 * of their own, so that they delay only each other, and so have notices.
 */
export function startBackgroundJobs({
  connection,
  db,
  secrets,
  send,
  onFailure,
  fastDeliveries = 40,
  slowDeliveries = 20,
}: BackgroundJobOptions): readonly JobWorker[] {
  const webhookTasks = createWebhookTasks({ db, secrets, send });
  const deliver = (
    task: keyof typeof webhookTasks,
    size: { readonly concurrency: number; readonly connections: number },
  ): JobWorker =>
    new JobWorker({
      connection,
      tasks: { [task]: webhookTasks[task] },
      ...size,
      pollEveryMs: pollDeliveriesEveryMs,
      onFailure: (error, job) => {
        // A delivery that failed is in the log of its webhook, which its workspace sees.
        if (!(error instanceof DeliveryFailedError)) onFailure(error, job);
      },
    });
  return [
    deliver("deliver-to-webhook", { concurrency: fastDeliveries, connections: 3 }),
    deliver("deliver-to-slow-webhook", { concurrency: slowDeliveries, connections: 2 }),
    new JobWorker({
      connection,
      tasks: {
        "find-notices": () => findNotices(db),
        "notice-invitation": (invitation) => addInvitationNotice(db, invitation),
      },
      everyMinute: ["find-notices"],
      connections: 2,
      onFailure,
    }),
  ];
}
