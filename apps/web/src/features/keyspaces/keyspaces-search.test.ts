import { expect, test } from "vitest";
import { cutSecret, readKeySearch } from "./key-search.ts";
import { parseIssuedKeysSearch, parseKeyspacesSearch } from "./keyspaces-search.ts";

test("reads the search of keyspaces, and drops defaults and what isn't valid", () => {
  const search = { q: "live", status: "disabled", sort: "-name", columns: "status", size: "25" };
  expect(parseKeyspacesSearch(search)).toEqual({ ...search, size: 25 });
  expect(parseKeyspacesSearch({ sort: "createdAt", size: "50", page: "2", selected: "ks_1" })).toEqual({});
  expect(parseKeyspacesSearch({ status: "toString", sort: "prefix" })).toEqual({});
});

test("reads the search of keys, and drops defaults and what isn't valid", () => {
  const search = {
    q: "acme",
    status: "out-of-credits",
    consumer: "customer_42",
    permission: "a.b",
    sort: "name",
  };
  expect(parseIssuedKeysSearch(search)).toEqual(search);
  expect(parseIssuedKeysSearch({ sort: "-createdAt", size: "50", status: "rotating" })).toEqual({});
  expect(parseIssuedKeysSearch({ status: "expiring" })).toEqual({ status: "expiring" });
  expect(parseIssuedKeysSearch({ consumer: " ", permission: 1 })).toEqual({});
  expect(parseIssuedKeysSearch({ consumer: "x".repeat(200) })).toEqual({ consumer: "x".repeat(128) });
});

test("cuts a pasted key to its first characters, so that the URL has no secret", () => {
  const secret = "sk_live_meIlxWfDUoCZfOPMVsm4DuMJS35BI53NJVCC";
  expect(cutSecret(` ${secret}`)).toBe("sk_live_meIlxW");
  expect(cutSecret("sk_live_meIlxW")).toBe("sk_live_meIlxW");
  expect(cutSecret("Acme Corporation")).toBe("Acme Corporation");
  expect(cutSecret("sk-proj-4fTq9Zx1mB7cVn2Ls8Wd0")).toBe("sk-proj-4fTq9Zx1mB7cVn2");
  expect(cutSecret(" q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQ== ")).toBe("q83vEjRWeJCrze8SNFZ4kKv");
  expect(cutSecret("sk-4fTq9Zx1mB7cVn2Ls8Wd")).toBe("sk-4fTq9Zx1mB7cVn2Ls8Wd");
  expect(cutSecret("Acme Corporation, production")).toBe("Acme Corporation, production");
});

test("searches for the first characters of a pasted key, and for other texts as they are", () => {
  expect(readKeySearch("sk_live_meI")).toEqual({ search: "sk_live_meI" });
  expect(readKeySearch("sk_live_meIlxWfDUo")).toEqual({ search: "sk_live_meIlxW" });
  expect(readKeySearch("sk-proj-4fTq9Zx1mB7cVn2Ls8Wd0")).toEqual({ search: "sk-proj-4fTq9Zx1mB7cVn2" });
  expect(readKeySearch(" Acme ")).toEqual({ search: "Acme" });
  expect(readKeySearch("Acme Corporation, production")).toEqual({ search: "Acme Corporation, production" });
  expect(readKeySearch(" ")).toEqual({});
});
