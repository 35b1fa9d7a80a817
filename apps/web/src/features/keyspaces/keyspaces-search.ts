import { maxLength } from "@latchkey/limits";
import { parseListSearch, parseUnselectableSearch, type TableSearch } from "../../ui/table-search.ts";
import { parseUsageRange, type UsageRangeSearch } from "../../ui/usage-range-search.ts";

const keyspaceOrders = ["createdAt", "name"] as const;
const keyOrders = ["createdAt", "name", "expiresAt"] as const;
const consumerOrders = ["createdAt", "externalId"] as const;

type Sort<Orders extends readonly string[]> = Orders[number] | `-${Orders[number]}`;
/** What the API sorts keyspaces by. */
export type KeyspaceSort = Sort<typeof keyspaceOrders>;
/** What the API sorts issued keys by. */
export type IssuedKeySort = Sort<typeof keyOrders>;
/** What the API sorts consumers by. */
export type ConsumerSort = Sort<typeof consumerOrders>;

/** The default orders, which are omitted from the URL. */
export const defaultKeyspaceSort = "createdAt" satisfies KeyspaceSort;
export const defaultKeySort = "-createdAt" satisfies IssuedKeySort;
export const defaultConsumerSort = "externalId" satisfies ConsumerSort;

/** The label of each status of a keyspace. */
export const keyspaceStatusTitles = { enabled: "Active", disabled: "Disabled" } as const;
/** The label of each status that issued keys can be filtered by. */
export const keyStatusTitles = {
  active: "Active",
  disabled: "Disabled",
  expiring: "Expires within 30 days",
  expired: "Expired",
  "out-of-credits": "Out of credits",
} as const;

/** The search part of the URL of the list of keyspaces. */
export interface KeyspacesSearch extends Omit<TableSearch, "page" | "selected"> {
  readonly status?: keyof typeof keyspaceStatusTitles;
}

/** The search part of the URL of a keyspace. */
export interface IssuedKeysSearch extends Omit<TableSearch, "page"> {
  readonly status?: keyof typeof keyStatusTitles;
  /** The external ID of a consumer. */
  readonly consumer?: string;
  readonly permission?: string;
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseKeyspacesSearch(search: Record<string, unknown>): KeyspacesSearch {
  const table = parseUnselectableSearch(search, { orders: keyspaceOrders, defaultSort: defaultKeyspaceSort });
  const { status } = search;
  return { ...table, ...(isKeyOf(keyspaceStatusTitles, status) && { status }) };
}

/** The search part of the URL of the consumers of a keyspace. */
export type ConsumersSearch = Omit<TableSearch, "page" | "selected">;

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseConsumersSearch(search: Record<string, unknown>): ConsumersSearch {
  const table = parseUnselectableSearch(search, { orders: consumerOrders, defaultSort: defaultConsumerSort });
  return table;
}

/** The search part of the URL of a consumer: of its keys, and the period of its chart. */
export type ConsumerSearch = Omit<IssuedKeysSearch, "consumer"> & UsageRangeSearch;

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseConsumerSearch(search: Record<string, unknown>): ConsumerSearch {
  const { consumer: _consumer, ...keys } = parseIssuedKeysSearch(search);
  return { ...keys, ...parseUsageRange(search) };
}

/** Reads the search part of a URL, and drops what isn't valid. */
export function parseIssuedKeysSearch(search: Record<string, unknown>): IssuedKeysSearch {
  const { q, ...table } = parseListSearch(search, { orders: keyOrders, defaultSort: defaultKeySort });
  const { status } = search;
  const consumer = readText(search.consumer, maxLength.externalId);
  const permission = readText(search.permission, maxLength.issuedPermission);
  return {
    ...table,
    ...(q !== undefined && { q }),
    ...(isKeyOf(keyStatusTitles, status) && { status }),
    ...(consumer !== undefined && { consumer }),
    ...(permission !== undefined && { permission }),
  };
}

function readText(text: unknown, longest: number): string | undefined {
  if (typeof text !== "string") return undefined;
  // The limit counts code points. Cutting the text at UTF-16 code units would filter by another external ID.
  const trimmed = [...text].slice(0, longest).join("").toWellFormed().trim();
  return trimmed === "" ? undefined : trimmed;
}

function isKeyOf<Titles extends object>(titles: Titles, text: unknown): text is keyof Titles {
  return typeof text === "string" && Object.hasOwn(titles, text);
}
