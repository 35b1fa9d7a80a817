import { actionTitles } from "../../server/action-titles.ts";
import type { Delivery } from "../../server/trpc.ts";
import { countOf, formatCount } from "../../ui/count.ts";
import type { DataColumn } from "../../ui/data-column.ts";
import { EmptyCell } from "../../ui/empty-cell.tsx";
import { RelativeTime } from "../../ui/relative-time.tsx";
import { StatusBadge, type StatusTone } from "../../ui/status-badge.tsx";
import classes from "./webhooks.module.css";
import { deliveryStatusTitles } from "./webhooks-search.ts";

type Attempt = Delivery["attempts"][number];

const tones = { pending: "inactive", succeeded: "neutral", failed: "attention" } as const satisfies Record<
  Delivery["status"],
  StatusTone
>;

const errorTexts = {
  address_not_allowed: "The host has a private IP address",
  connection_failed: "Couldn’t connect",
  https_required: "A public server needs https://",
  name_not_found: "The host name wasn’t found",
  restored: "Not sent: a backup was restored",
  timeout: "No response within 10 seconds",
  tls_failed: "TLS failed",
} as const satisfies Record<NonNullable<Attempt["error"]>, string>;

/** The columns of the log of deliveries to a webhook. */
export const deliveryColumns: readonly [DataColumn<Delivery>, ...DataColumn<Delivery>[]] = [
  {
    id: "event",
    label: "Event",
    minWidth: 180,
    grow: 1,
    rank: 0,
    cell: ({ action }) => titleOf(action),
  },
  {
    id: "status",
    label: "Status",
    minWidth: 112,
    grow: 0,
    rank: 1,
    cell: ({ status }) => <StatusBadge tone={tones[status]} label={deliveryStatusTitles[status]} />,
  },
  {
    id: "attempt",
    label: "Last attempt",
    minWidth: 180,
    isWide: true,
    grow: 3,
    rank: 2,
    cell: ({ attempts, nextAttemptAt }) => {
      const last = attempts.at(-1);
      if (!last) return <EmptyCell />;
      return (
        <span>
          {describeAttempt(last)}
          {(attempts.length > 1 || nextAttemptAt !== null) && (
            <span className={classes.attempts}>
              {countOf(attempts.length, "attempt", "attempts")}
              {nextAttemptAt !== null && (
                <>
                  , next due <RelativeTime at={nextAttemptAt} isFuture />
                </>
              )}
            </span>
          )}
        </span>
      );
    },
  },
  {
    id: "createdAt",
    label: "Time",
    order: "createdAt",
    isTime: true,
    minWidth: 112,
    grow: 0,
    rank: 3,
    cell: ({ createdAt }) => <RelativeTime at={createdAt} />,
  },
];

/** The name of the event that a delivery sends. */
export function titleOf(action: Delivery["action"]): string {
  return action === "webhook.test" ? "Test message" : (actionTitles[action] ?? action);
}

function describeAttempt({ status, error, durationMs }: Attempt): string {
  return error ? errorTexts[error] : `${status} in ${formatCount(durationMs)} ms`;
}
