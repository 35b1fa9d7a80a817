import type { Delivery } from "../../server/trpc.ts";
import {
  type LogTableSearch,
  parseListSearch,
  parseUnselectableSearch,
  type TableSearch,
} from "../../ui/table-search.ts";

const orders = ["createdAt", "url"] as const;
type WebhookOrder = (typeof orders)[number];
/** What the API sorts webhooks by. */
export type WebhookSort = WebhookOrder | `-${WebhookOrder}`;

/** The default order, which is omitted from the URL. */
export const defaultWebhookSort = "createdAt" satisfies WebhookSort;

/** The label of each status of a webhook. */
export const webhookStatusTitles = { enabled: "Enabled", failing: "Failing", disabled: "Disabled" } as const;

type WebhookStatus = keyof typeof webhookStatusTitles;

/** The search part of the URL of the list of webhooks. */
export interface WebhooksSearch extends Omit<TableSearch, "page"> {
  readonly status?: WebhookStatus;
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseWebhooksSearch(search: Record<string, unknown>): WebhooksSearch {
  const { status } = search;
  const table = parseListSearch(search, { orders, defaultSort: defaultWebhookSort });
  return { ...table, ...(isWebhookStatus(status) && { status }) };
}

function isWebhookStatus(text: unknown): text is WebhookStatus {
  return typeof text === "string" && Object.hasOwn(webhookStatusTitles, text);
}

export type DeliveryStatus = Delivery["status"];

/** The label of each status of a delivery. */
export const deliveryStatusTitles = {
  pending: "Pending",
  succeeded: "Succeeded",
  failed: "Failed",
} as const satisfies Record<DeliveryStatus, string>;

/** The order of deliveries that is absent from the URL: newest first. */
export const defaultDeliverySort = "-createdAt" as const;

/** The search part of the URL of a webhook. */
export interface DeliveriesSearch extends LogTableSearch {
  readonly status?: DeliveryStatus;
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseDeliveriesSearch(search: Record<string, unknown>): DeliveriesSearch {
  const { q: _q, ...table } = parseUnselectableSearch(search, {
    orders: ["createdAt"],
    defaultSort: defaultDeliverySort,
  });
  return { ...table, ...(isDeliveryStatus(search.status) && { status: search.status }) };
}

export function isDeliveryStatus(text: unknown): text is DeliveryStatus {
  return typeof text === "string" && Object.hasOwn(deliveryStatusTitles, text);
}
