import { expect, test } from "vitest";
import { relyingPartyOf } from "./relying-party.ts";

test.each([
  ["https://keys.example.com", { id: "keys.example.com", origin: "https://keys.example.com" }],
  ["https://keys.example.com:8443", { id: "keys.example.com", origin: "https://keys.example.com:8443" }],
  ["http://localhost:4000", { id: "localhost", origin: "http://localhost:4000" }],
  ["http://127.0.0.1:4000", { id: "localhost", origin: "http://localhost:4000" }],
  ["http://[::1]:4000", { id: "localhost", origin: "http://localhost:4000" }],
  ["http://127.0.0.1", { id: "localhost", origin: "http://localhost" }],
  ["https://localhost:4000", { id: "localhost", origin: "https://localhost:4000" }],
])("the relying party of %s is %j", (baseUrl, relyingParty) => {
  expect(relyingPartyOf(baseUrl)).toEqual(relyingParty);
});

test.each([
  "http://192.0.2.1:4000",
  "http://10.127.0.1",
  "http://keys.example.com",
  "http://127.0.0.1.example.com",
  "https://192.0.2.1",
  "https://[2001:db8::1]",
])("browsers offer no passkeys to %s", (baseUrl) => {
  expect(relyingPartyOf(baseUrl)).toBeUndefined();
});
