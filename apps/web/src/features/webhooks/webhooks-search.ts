import type { Delivery } from "../../server/trpc.ts";

type WebhookOrder = "createdAt" | "url";
export type WebhookSort = WebhookOrder | `-${WebhookOrder}`;

/** The default order, which is omitted from the URL. */
export const defaultWebhookSort = "createdAt" satisfies WebhookSort;

const sorts: ReadonlySet<unknown> = new Set<WebhookSort>(["createdAt", "-createdAt", "url", "-url"]);

/** The search part of the URL of the list of webhooks. */
export interface WebhooksSearch {
  readonly sort?: WebhookSort;
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseWebhooksSearch({ sort }: Record<string, unknown>): WebhooksSearch {
  return isWebhookSort(sort) && sort !== defaultWebhookSort ? { sort } : {};
}

export function isWebhookSort(text: unknown): text is WebhookSort {
  return sorts.has(text);
}

export type DeliveryStatus = Delivery["status"];

/** The label of each status of a delivery. */
export const deliveryStatusTitles = {
  pending: "Pending",
  succeeded: "Succeeded",
  failed: "Failed",
} as const satisfies Record<DeliveryStatus, string>;

/** The search part of the URL of a webhook. */
export interface DeliveriesSearch {
  readonly status?: DeliveryStatus;
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseDeliveriesSearch({ status }: Record<string, unknown>): DeliveriesSearch {
  return isDeliveryStatus(status) ? { status } : {};
}

export function isDeliveryStatus(text: unknown): text is DeliveryStatus {
  return typeof text === "string" && Object.hasOwn(deliveryStatusTitles, text);
}
