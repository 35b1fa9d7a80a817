import { encodeId } from "@latchkey/db/ids";
import type { Logger } from "pino";
import type { SignInEvent } from "./domain/sign-in-event.ts";
import { createTally } from "./tally.ts";

/**
 * Logs sign-ins, sign-ups and their failures, with IDs and without email addresses: an address without an account may be
 * a password typed into the wrong field. Throttled attempts cost a caller nothing, so they are counted, and one line a
 * second tells how many there were and where the last one came from.
 */
export function createAccountLog(log: Logger): (event: SignInEvent) => void {
  const logThrottled = {
    "sign-in-throttled": createTally((facts) => log.warn(facts, "sign-ins were throttled")),
    "sign-up-throttled": createTally((facts) => log.warn(facts, "sign-ups were throttled")),
  };
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
      case "sign-in-throttled":
      case "sign-up-throttled":
        logThrottled[event.kind](facts);
        return;
      default:
        event satisfies never;
    }
  };
}
