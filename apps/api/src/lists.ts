import type { ExaminedRows, Page, Position } from "@latchkey/db/page";
import { AppError } from "@latchkey/errors";
import { z } from "zod";
import { searchText } from "./fields.ts";

const maxPageSize = 100;
/** Longer than the cursor of the longest name: `encodeCursor` makes at most 600 characters of it. */
const maxCursorLength = 1_024;

const pageQuery = z.strictObject({
  limit: z
    .string()
    .regex(/^\d{1,9}$/, "must be a whole number")
    .transform(Number)
    .pipe(z.int().min(1, "must be at least 1").max(maxPageSize, `must be at most ${maxPageSize}`))
    .default(25)
    .meta({
      description: "Maximum number of items per page.",
      // Documents the parsed value: the schema itself describes the text in the query string.
      override: ({ jsonSchema }: { readonly jsonSchema: Record<string, unknown> }) => {
        delete jsonSchema.pattern;
        Object.assign(jsonSchema, { type: "integer", minimum: 1, maximum: maxPageSize, default: 25 });
      },
    }),
  cursor: z
    .string()
    .max(maxCursorLength)
    .meta({ pattern: "^[A-Za-z0-9_-]+$" })
    .optional()
    .meta({ description: "The `nextCursor` of the previous page." }),
});

/** The maximum number of items of a page or of another response. */
export const itemLimit = pageQuery.shape.limit;

/**
 * Creates the schema of a list's query: page size, cursor and sort order. Add filters with `extend`.
 * @param orders the sort orders; with a minus, the greatest comes first. The first one is the default. The name of a time
 *   ends with `At`, the name of a number with `Count`, and any other order sorts text; cursors are validated by that.
 */
export function listQuery<const Orders extends readonly [string, ...string[]]>(orders: Orders) {
  type Sort = Orders[number] | `-${Orders[number]}`;
  const names = orders.flatMap((order) => [order, `-${order}`]) as [Sort, ...Sort[]]; // Each order with and without a minus.
  const sort: z.ZodType<Sort, Sort> = z.enum(names);
  const description = "The sort order. A leading minus sorts in descending order.";
  return pageQuery.extend({ sort: sort.default(() => orders[0]).meta({ description }) });
}

/** The page sizes that the web app offers. */
export const pageSize = z.literal([10, 25, 50, 100]);

/** The order of a log in the web app: newest first by default. */
export const logOrder = z.literal(["-occurredAt", "occurredAt"]).default("-occurredAt");

/** A part of a name to search for, in any letter case. */
export const searchFilter = searchText
  .min(1, "must not be empty")
  .meta(searchText.meta() ?? {})
  .optional();

/** Creates the schema of a list's response. */
export function pageOf<Item extends z.ZodObject>(item: Item) {
  return z.object({
    data: z.array(item).meta({ maxItems: maxPageSize }),
    nextCursor: z.string().meta({ maxLength: maxCursorLength }).nullable().meta({
      description: "Pass it as `cursor` for the next page; null on the last one.",
      example: "WyJuYW1lIiwiUGF5bWVudHMiLCIwMTg5MGE1ZC1hYzk2LTc3NGItYmNjZS1iMzAyMDk5YTgwNTciXQ",
    }),
    hasMore: z.boolean().meta({ description: "Whether there is a next page.", example: true }),
  });
}

interface ListQuery<Sort extends string> {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly sort: Sort;
}

/** The rows to query: one more than the page has, which shows whether there is a next page. */
export interface PageRequest<Order extends string> extends Page {
  readonly sort: Order;
}

type OrderOf<Sort extends string> = Sort extends `-${infer Order}` ? Order : Sort;

/** @throws {AppError} BAD_REQUEST if the cursor isn't from this list in this order. */
export function readPage<Sort extends string>(query: ListQuery<Sort>): PageRequest<OrderOf<Sort>> {
  const isDescending = query.sort.startsWith("-");
  return {
    sort: query.sort.replace(/^-/, "") as OrderOf<Sort>, // The part after the minus is the order.
    direction: isDescending ? "desc" : "asc",
    limit: query.limit + 1,
    after: decodeCursor(query),
  };
}

/** Turns rows into a page. One whose list was not examined to the end has a next page, whatever its length. */
export function toPage<Row extends { readonly position: string }, Item>(
  list: readonly Row[] | ExaminedRows<Row>,
  query: ListQuery<string>,
  { present, idOf }: { readonly present: (row: Row) => Item; readonly idOf: (row: Row) => string },
): { data: Item[]; nextCursor: string | null; hasMore: boolean } {
  const { rows, examinedTo } = "rows" in list ? list : { rows: list, examinedTo: undefined };
  const shown = rows.slice(0, query.limit);
  const last = shown.at(-1);
  const end = rows.length > query.limit && last ? { value: last.position, id: idOf(last) } : examinedTo;
  return {
    data: shown.map(present),
    nextCursor: end ? encodeCursor(query.sort, end) : null,
    hasMore: end !== undefined,
  };
}

/** Encodes the position at which a page ends. Cursors are opaque to clients, so that their content can change. */
function encodeCursor(sort: string, { value, id }: Position): string {
  return Buffer.from(JSON.stringify([sort, value, id])).toString("base64url");
}

const cursorSchema = z.tuple([
  z.string(),
  z.string().refine((text) => text.isWellFormed() && !text.includes("\0")),
  z.guid(),
]);
/** A time, in microseconds since 1970, or a count. Fits in a bigint of Postgres. */
const numberPattern = /^-?\d{1,18}$/;
/**
 * The years 1 to 9999, in microseconds since 1970. Numbers of 18 digits can also mean times before 4714 BC, which Postgres can't
 * represent.
 */
const [firstTime, lastTime] = [-62_135_596_800_000_000n, 253_402_300_799_999_999n];

function decodeCursor({ cursor, sort }: ListQuery<string>): Position | undefined {
  if (cursor === undefined) return undefined;
  const { data } = cursorSchema.safeParse(parseJson(Buffer.from(cursor, "base64url").toString()));
  if (data?.[0] === sort && isSortValue(sort, data[1])) return { value: data[1], id: data[2] };
  const message = "must be a nextCursor from this list with the same sort order";
  throw new AppError("BAD_REQUEST", { issues: [{ path: "cursor", code: "invalid_format", message }] });
}

/** Whether Postgres can read a value for a sort order. */
function isSortValue(sort: string, value: string): boolean {
  if (!/(At|Count)$/.test(sort)) return true;
  if (!numberPattern.test(value)) return false;
  const number = BigInt(value);
  return sort.endsWith("Count") || (number >= firstTime && number <= lastTime);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
