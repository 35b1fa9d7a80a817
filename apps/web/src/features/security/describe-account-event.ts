import type { SecurityEvent } from "../../server/trpc.ts";
import { countOf } from "../../ui/count.ts";
import type { Piece } from "../../ui/event-sentence.tsx";
import { describeDevice } from "./describe-device.ts";

interface AccountEvent extends Pick<SecurityEvent, "before" | "after" | "device"> {
  readonly action: Exclude<SecurityEvent["action"], `key.${string}`>;
}

/** What happened to the user's account, as a sentence. */
export function describeAccountEvent({ action, before, after, device }: AccountEvent): readonly Piece[] {
  const fromDevice = device ? ` with ${describeDevice(device)}` : "";
  switch (action) {
    case "account.renamed":
      return ["Changed your name from ", quote(before?.name), " to ", quote(after?.name)];
    case "account.email-change-requested":
      return ["Asked to change your email address to ", quote(after?.email)];
    case "account.email-changed":
      return ["Changed your email address from ", quote(before?.email), " to ", quote(after?.email)];
    case "account.email-verified":
      return ["Verified your email address"];
    case "notice-setting.changed":
      return describeNoticeSetting(after);
    case "password.changed":
      return ["Changed your password and ended your other sessions"];
    case "password.reset":
      return ["Chose a new password with a link, which ended all sessions"];
    case "password.reset-link-created":
      return ["Created a password reset link"];
    case "password.reset-link-emailed":
      return ["Emailed you a password reset link"];
    case "password.set":
      return ["Set a password and ended your other sessions"];
    case "identity.linked":
      return ["Linked ", quote(after?.provider), " to sign in with it"];
    case "identity.unlinked":
      return ["Unlinked ", quote(before?.provider)];
    case "totp.enabled":
      return ["Set up an authenticator app and ended your other sessions"];
    case "totp.disabled":
      return ["Removed your authenticator app and ended your other sessions"];
    case "passkey.added":
      return ["Added the passkey ", quote(after?.name), " and ended your other sessions"];
    case "passkey.renamed":
      return ["Renamed the passkey ", quote(before?.name), " to ", quote(after?.name)];
    case "passkey.removed":
      return ["Removed the passkey ", quote(before?.name), " and ended your other sessions"];
    case "recovery-codes.created":
      return ["Created recovery codes"];
    case "recovery-code.used":
      return ["Used a recovery code"];
    case "second-factor.failed":
      return [`Wrong code after your password was confirmed${fromDevice}`];
    case "second-factors.reset":
      return ["Removed all your second factors and ended all sessions"];
    case "sign-in.succeeded":
      return [`Signed in${fromDevice}${describeFactor(after?.factor)}`];
    case "sign-in.failed":
      return [`Failed sign-in${fromDevice}`];
    case "session.ended":
      return [`Ended ${countOf(Number(after?.count ?? 1), "session", "sessions")}`];
    case "session.signed-out":
      return [
        after?.count === undefined
          ? "Signed out"
          : `Signed out everywhere, which ended ${countOf(Number(after.count), "session", "sessions")}`,
      ];
    default:
      // A newer node sends actions that this version doesn't know.
      return [action satisfies never];
  }
}

function describeNoticeSetting(after: AccountEvent["after"]): readonly Piece[] {
  const { kind, inApp, byEmail } = after ?? {};
  const channels = [
    inApp !== undefined && `${inApp === true ? "on" : "off"} in the app`,
    byEmail !== undefined && `${byEmail === true ? "on" : "off"} by email`,
  ].filter((channel) => channel !== false);
  return [
    "Turned the notice ",
    quote(typeof kind === "string" ? kind.replaceAll("-", " ") : kind),
    ` ${channels.join(" and ")}`,
  ];
}

function describeFactor(factor: unknown): string {
  if (factor === "totp") return " and a code";
  if (factor === "passkey") return " and a passkey";
  if (factor === "openid") return " through the OpenID provider";
  return factor === "recovery-code" ? " and a recovery code" : "";
}

function quote(detail: string | number | boolean | null | undefined): Piece {
  return detail === undefined || detail === null
    ? "a value that wasn’t recorded"
    : { name: `“${String(detail)}”` };
}
