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
  expect(parseIssuedKeysSearch({ consumer: "🔑".repeat(200) })).toEqual({ consumer: "🔑".repeat(128) });
});

test("cuts a pasted key to its first characters, so that the URL has no secret", () => {
  const cut = (text: string) => cutSecret(text, "sk_live");
  const secret = "sk_live_meIlxWfDUoCZfOPMVsm4DuMJS35BI53NJVCC";
  expect(cut(` ${secret}`)).toBe("sk_live_meIlxW");
  expect(cut(secret.slice(0, 15))).toBe("sk_live_meIlxW");
  expect(cut("sk_live_meIlxW")).toBe("sk_live_meIlxW");
  // A key of another keyspace, or from before the prefix changed.
  for (const after of ["", " production", ",", `,${secret}`])
    expect(cutSecret(`${secret}${after}`, "sk_test")).toBe("sk_live_meIlxW");
  expect(cut("Acme Corporation")).toBe("Acme Corporation");
  expect(cut("sk-proj-4fTq9Zx1mB7cVn2Ls8Wd0")).toBe("sk-proj-4fTq9Zx1mB7cVn2");
  expect(cut(" q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQ== ")).toBe("q83vEjRWeJCrze8SNFZ4kKv");
  expect(cut("sk-4fTq9Zx1mB7cVn2Ls8Wd")).toBe("sk-4fTq9Zx1mB7cVn2Ls8Wd");
  expect(cut("Acme Corporation, production")).toBe("Acme Corporation, production");
});

test("leaves names that look like a part of a key of another keyspace", () => {
  for (const name of ["customer_production_eu", "acme_production", "sk_test_meIlxWfDUo"])
    expect(cutSecret(name, "sk_live")).toBe(name);
});

test("searches for the first characters of a pasted key, and for other texts as they are", () => {
  const read = (q: string) => readKeySearch(q, "sk_live");
  expect(read("sk_live_meI")).toEqual({ search: "sk_live_meI" });
  expect(read("sk_live_meIlxWfDUo")).toEqual({ search: "sk_live_meIlxW" });
  expect(read("sk-proj-4fTq9Zx1mB7cVn2Ls8Wd0")).toEqual({ search: "sk-proj-4fTq9Zx1mB7cVn2" });
  expect(read("customer_production_eu")).toEqual({ search: "customer_production_eu" });
  expect(read(" Acme ")).toEqual({ search: "Acme" });
  expect(read("Acme Corporation, production")).toEqual({ search: "Acme Corporation, production" });
  expect(read(" ")).toEqual({});
});
