import { expect, test } from "vitest";
import { parseDeliveriesSearch, parseWebhooksSearch } from "./webhooks-search.ts";

test("reads the order of webhooks, and drops the default and what isn't valid", () => {
  expect(parseWebhooksSearch({ sort: "-url" })).toEqual({ sort: "-url" });
  expect(parseWebhooksSearch({ sort: "createdAt" })).toEqual({});
  expect(parseWebhooksSearch({ sort: "name", other: 1 })).toEqual({});
});

test("reads the status of deliveries, and drops what isn't valid", () => {
  expect(parseDeliveriesSearch({ status: "failed" })).toEqual({ status: "failed" });
  expect(parseDeliveriesSearch({ status: "toString" })).toEqual({});
  expect(parseDeliveriesSearch({ status: 1 })).toEqual({});
});
