import { createId } from "@latchkey/db/ids";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { createAccountLog } from "./account-log.ts";
import type { SignInEvent } from "./domain/sign-in-event.ts";
import { EventLog } from "./event-log/event-log.ts";

/** The lines about ten equal events. */
function logTenTimes(event: SignInEvent): readonly string[] {
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line) => lines.push(line) });
  const events = new EventLog({ log, isDatabaseAvailable: async () => true });
  onTestFinished(() => events.close());
  const report = createAccountLog(log, events);
  for (let count = 0; count < 10; count += 1) report(event);
  events.close();
  return lines.map((line) => {
    const { msg, count } = JSON.parse(line) as { readonly msg: string; readonly count?: number };
    return count === undefined ? msg : `${msg}: ${count}`;
  });
}

const request = { address: "203.0.113.7", requestId: "request" };
const userId = createId("user");

test.each<[string, SignInEvent]>([
  [
    "the OpenID provider could not be used",
    { ...request, kind: "openid-failed", problem: "It can't be reached." },
  ],
  ["sign-ins without a password failed", { ...request, kind: "sign-in-rejected" }],
  ["sign-ins were throttled", { ...request, kind: "sign-in-throttled", retryAfterSeconds: 1 }],
  ["codes of second factors were throttled", { ...request, kind: "code-throttled", retryAfterSeconds: 1 }],
  ["sign-ups were throttled", { ...request, kind: "sign-up-throttled", retryAfterSeconds: 1 }],
])("counts events with the message '%s'", (message, event) => {
  expect(logTenTimes(event)).toEqual([`${message}: 1`, `${message}: 9`]);
});

test.each<[string, SignInEvent]>([
  ["sign-in failed", { ...request, kind: "sign-in-failed", reason: "passkey", userId }],
  ["sign-in failed", { ...request, kind: "sign-in-failed", reason: "unknown-account", userId: undefined }],
  ["second factor failed", { ...request, kind: "second-factor-failed", userId }],
  ["signed in", { ...request, kind: "signed-in", userId }],
])("logs '%s' once per event", (message, event) => {
  expect(logTenTimes(event)).toEqual(Array.from({ length: 10 }, () => message));
});
