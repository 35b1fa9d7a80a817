import { describeOverlap } from "../../server/describe-overlap.ts";
import type { IssuedKeyChange, IssuedKeyFields } from "../../server/trpc.ts";
import { countOf, formatCount } from "../../ui/count.ts";
import { describeExactly } from "../../ui/elapsed.ts";
import type { Piece } from "../../ui/event-sentence.tsx";

type Details = IssuedKeyChange["after"];
type Detail = NonNullable<Details>[string] | undefined;

/** What happened to a key, on its own page, as the rest of a sentence that begins with the actor. */
export function describeKeyChange({ action, before, after }: IssuedKeyChange): readonly Piece[] {
  switch (action) {
    case "issued-key.created":
      return [
        after?.isDisabled === true ? "issued the disabled key" : "issued the key",
        ...(after?.credits ? [` with credits: ${show(after.credits)}`] : []),
      ];
    case "issued-key.changed":
      return ["changed ", ...describeSettings(before, after)];
    case "issued-key.disabled":
      return ["disabled the key"];
    case "issued-key.enabled":
      return ["enabled the key"];
    case "issued-key.rotated":
      return ["rotated the key", describeOverlap(after?.overlapSeconds)];
    case "issued-key.secret-reissued":
      return ["replaced the unused secret"];
    case "issued-key.former-secrets-revoked":
      return ["revoked the old secrets"];
    case "issued-key.credits-changed":
      return describeBalance(before?.credits, after);
    default:
      // A newer server can record other changes.
      return [action];
  }
}

/** An addition and a subtraction have an amount. Otherwise, the balance was set. */
function describeBalance(former: Detail, after: Details): readonly Piece[] {
  const change = typeof former === "number" ? ` from ${formatCount(former)}` : "";
  const balance = `${change} to ${show(after?.credits)}`;
  if (typeof after?.added === "number")
    return [`added ${countOf(after.added, "credit", "credits")},${balance}`];
  if (typeof after?.subtracted === "number")
    return [`subtracted ${countOf(after.subtracted, "credit", "credits")},${balance}`];
  return [`set the balance${balance}`];
}

/** The label of each field in an event. */
const fieldLabels: Readonly<Record<Exclude<keyof IssuedKeyFields, "meta">, string>> &
  Readonly<Record<string, string>> = {
  name: "the name",
  externalId: "the consumer",
  permissions: "the permissions",
  limits: "the rate limits",
  credits: "the credits",
  expiresAt: "the expiry",
  ipRanges: "the IP ranges",
};

/** What was changed, with the values before and after. Only changed settings are in `before`. */
function describeSettings(before: Details, after: Details): readonly Piece[] {
  const changes = Object.entries(before ?? {}).map(([name, former]): readonly Piece[] => [
    `${fieldLabels[name] ?? name} from `,
    showValue(name, former),
    " to ",
    showValue(name, after?.[name]),
  ]);
  const parts = [...changes, ...(after?.isMetaChanged === true ? [["the metadata"]] : [])];
  return parts.flatMap((pieces, index) => (index === 0 ? pieces : ["; ", ...pieces]));
}

function showValue(name: string, value: Detail): Piece {
  if (value === null || value === undefined || value === "") {
    if (name === "expiresAt") return "never";
    return name === "ipRanges" ? "any IP address" : "none";
  }
  if (name === "expiresAt") return describeExactly(new Date(String(value)));
  return name === "credits" ? show(value) : { name: `“${value}”` };
}

/** A balance, or credits such as "500, refilled to 1000 monthly on day 1", with separators of thousands. */
function show(value: Detail): string {
  return String(value ?? "unknown").replace(/\d+/g, (digits) => formatCount(Number(digits)));
}
