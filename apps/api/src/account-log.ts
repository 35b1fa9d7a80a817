import { encodeId } from "@latchkey/db/ids";
import type { Logger } from "pino";
import type { SignInEvent } from "./domain/sign-in-event.ts";
import type { EventLog } from "./event-log/event-log.ts";

/** Events that are counted instead of logged one by one. */
const countedMessages = {
  "sign-in-throttled": "sign-ins were throttled",
  "code-throttled": "codes of second factors were throttled",
  "sign-up-throttled": "sign-ups were throttled",
  "sign-in-rejected": "sign-ins without a password failed",
  "openid-failed": "the OpenID provider could not be used",
} as const;

/**
 * Logs sign-ins, sign-ups and their failures, with IDs and without email addresses: an email address without an account
 * may be a password typed into the wrong field. Failed sign-ins get a line each, so that other programs can block their
 * IP addresses; throttling, the password queue and per-user quotas bound how many there are. None of them bounds how many attempts
 * are throttled, or how many responses of unknown users come from many networks. These events, and rejections beyond a user's quota,
 * are only counted.
 */
export function createAccountLog(log: Logger, events: EventLog): (event: SignInEvent) => void {
  const count = (kind: keyof typeof countedMessages, facts: object): void =>
    events.count({ kind, level: "warn", message: countedMessages[kind], facts });
  return (event) => {
    const { kind, ...facts } = event;
    switch (event.kind) {
      case "signed-in":
      case "signed-up": {
        const userId = encodeId("user", event.userId);
        log.info({ ...facts, userId }, event.kind === "signed-in" ? "signed in" : "signed up");
        return;
      }
      case "sign-in-failed": {
        const userId = event.userId && encodeId("user", event.userId);
        log.warn({ ...facts, userId }, "sign-in failed");
        return;
      }
      case "second-factor-failed":
        log.warn({ ...facts, userId: encodeId("user", event.userId) }, "second factor failed");
        return;
      case "openid-failed":
      case "sign-in-rejected":
      case "sign-in-throttled":
      case "code-throttled":
      case "sign-up-throttled":
        count(event.kind, facts);
        return;
      default:
        event satisfies never;
    }
  };
}
