import { expect, test } from "vitest";
import { requireSameOrigin } from "./same-site.ts";

const [host, baseUrl] = ["keys.example.com", "https://keys.example.com"];

test.each([
  ["the base URL's origin", { host, origin: "https://keys.example.com" }, baseUrl],
  [
    "a base URL with a path and a port",
    { host: `${host}:8443`, origin: `https://${host}:8443` },
    `https://${host}:8443/a`,
  ],
  ["a Host with the default port", { host: `${host}:443`, origin: "https://keys.example.com" }, baseUrl],
  [
    "another name of the loopback address",
    { host: "localhost:4000", origin: "http://localhost:4000" },
    "http://127.0.0.1:4000",
  ],
  ["a client that isn't a browser", { host }, baseUrl],
  ["a browser that says so", { host, "sec-fetch-site": "same-origin" }, baseUrl],
])("accepts %s", (_what, headers, base) => {
  expect(() => requireSameOrigin("POST", headers, base)).not.toThrow();
});

test.each([
  ["the same host with another scheme", { host, origin: "http://keys.example.com" }, baseUrl],
  [
    "HTTPS, if the instance has none",
    { host: "localhost:4000", origin: "https://localhost:4000" },
    "http://localhost:4000",
  ],
  ["another scheme that isn't of the web", { host, origin: "ftp://keys.example.com" }, baseUrl],
  ["another port", { host, origin: "https://keys.example.com:8443" }, baseUrl],
  ["another host", { host, origin: "https://evil.example" }, baseUrl],
  ["an unknown origin", { host, origin: "null" }, baseUrl],
  ["no host", { origin: "https://undefined" }, baseUrl],
  ["a page of the same site", { host, "sec-fetch-site": "same-site" }, baseUrl],
])("rejects %s", (_what, headers, base) => {
  expect(() => requireSameOrigin("POST", headers, base)).toThrow("another site");
  expect(() => requireSameOrigin("GET", headers, base)).not.toThrow();
});
