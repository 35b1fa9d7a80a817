import { encodeId } from "@latchkey/db/ids";
import type { Logger } from "pino";
import type { SignInEvent } from "./domain/sign-in-event.ts";
import type { EventLog } from "./event-log/event-log.ts";

const throttledMessages = {
  "sign-in-throttled": "sign-ins were throttled",
  "code-throttled": "codes of second factors were throttled",
  "sign-up-throttled": "sign-ups were throttled",
} as const;

/**
 * Logs sign-ins, sign-ups and their failures, with IDs and without email addresses: an email address without an account
 * may be a password typed into the wrong field. Failed sign-ins get a line each, so that other programs can block their
 * IP addresses; throttling and the password queue bound how many there are. A caller can make any number of throttled
 * attempts, so they are only counted.
 */
export function createAccountLog(log: Logger, events: EventLog): (event: SignInEvent) => void {
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
        log.warn(facts, "the OpenID provider could not be used");
        return;
      case "sign-in-throttled":
      case "code-throttled":
      case "sign-up-throttled":
        events.count({
          kind: event.kind,
          level: "warn",
          message: throttledMessages[event.kind],
          facts,
        });
        return;
      default:
        event satisfies never;
    }
  };
}
