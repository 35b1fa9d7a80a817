import { expect, test } from "vitest";
import { parseDeliveriesSearch, parseWebhooksSearch } from "./webhooks-search.ts";

test("reads the order, the columns and the page size of webhooks, and drops the default and what isn't valid", () => {
  expect(parseWebhooksSearch({ sort: "-url", columns: "status", size: "10", selected: "whk_1" })).toEqual({
    sort: "-url",
    selected: "whk_1",
    columns: "status",
    size: 10,
  });
  expect(parseWebhooksSearch({ sort: "createdAt", size: "50" })).toEqual({});
  expect(parseWebhooksSearch({ sort: "name", size: "11", status: "toString", page: "2", other: 1 })).toEqual(
    {},
  );
  expect(parseWebhooksSearch({ q: "siem", status: "failing" })).toEqual({ q: "siem", status: "failing" });
});

test("reads the status, the order, the columns and the page size of deliveries, and drops what isn't valid", () => {
  const search = { status: "failed", sort: "createdAt", columns: "status", size: "25" };
  expect(parseDeliveriesSearch(search)).toEqual({ ...search, size: 25 });
  expect(parseDeliveriesSearch({ sort: "-createdAt", size: "50", page: "2" })).toEqual({});
  expect(parseDeliveriesSearch({ status: "toString" })).toEqual({});
  expect(parseDeliveriesSearch({ status: 1 })).toEqual({});
});
