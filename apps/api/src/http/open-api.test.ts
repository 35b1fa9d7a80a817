import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import type { KeyId, UserId } from "@latchkey/db/ids";
import Koa, { type Context } from "koa";
import { expect, test } from "vitest";
import { defaultDeadlines } from "../deadlines.ts";
import { describeInstance, type Services } from "../domain/services.ts";
import { getConfig } from "../open/global/get-config.ts";
import { openApi } from "./open-api.ts";
import { createExportSemaphore } from "./open-exports.ts";
import type { DecidedRequest } from "./request-listener.ts";

const configuration = describeInstance({
  baseUrl: "https://keys.example.com",
  version: "1.2.3",
  registration: "open",
  hasOpenid: false,
});
const services = { configuration, deadlines: defaultDeadlines } as Services; // The tests use only these fields.
const serve = openApi({
  services,
  recorder: { record: () => undefined, recordUse: () => undefined, recordVerifications: () => undefined },
  exports: createExportSemaphore(),
});

function createContext(): Context {
  const req = new IncomingMessage(new Socket());
  Object.assign(req, { method: "GET", url: "/open/global/config", rawHeaders: ["Host", "keys.example.com"] });
  return Object.assign(new Koa().createContext(req, new ServerResponse(req)), { requestId: "named" });
}

const decided: DecidedRequest = {
  kind: "decided",
  route: { endpoint: getConfig, params: {}, requirement: undefined },
  path: "/open/global/config",
  verdict: {
    kind: "admitted",
    presented: { keyId: "key" as KeyId, userId: "user" as UserId, formerSecret: undefined },
    principal: {
      keyId: "key" as KeyId,
      userId: "user" as UserId,
      digest: "",
      restrictions: undefined,
      isRestricted: false,
      isByFormerSecret: false,
    },
    access: undefined,
    limit: undefined,
  },
  address: undefined,
  arrivedAt: performance.now(),
};

test("returns the reply synchronously, not as a promise, if a request needs no I/O", () => {
  const reply = serve(createContext(), decided);
  expect(reply).toMatchObject({ status: 200, body: expect.stringContaining('"version":"1.2.3"') });
});

test("rejects a request without a key, and fails with the error of a failed admission", () => {
  expect(() => serve(createContext(), { kind: "no-key" })).toThrow(
    expect.objectContaining({ code: "UNAUTHORIZED" }),
  );
  const error = new Error("a bug");
  expect(() => serve(createContext(), { kind: "failed", error })).toThrow(error);
});
