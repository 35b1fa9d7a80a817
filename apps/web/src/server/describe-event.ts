import { countOf, formatCount } from "../ui/count.ts";
import type { Piece } from "../ui/event-sentence.tsx";
import { type DescribeDetail, type Detail, listTexts, quote, text } from "./describe-details.ts";
import { describeKeyEvent, isKeyAction } from "./describe-key-event.ts";
import { describeOverlap } from "./describe-overlap.ts";
import { isRole, withArticle } from "./roles.ts";
import type { AuditEvent } from "./trpc.ts";

/** What happened, as the rest of a sentence that begins with the actor. */
export function describeEvent(event: AuditEvent): readonly Piece[] {
  const { action, actor, target, before, after } = event;
  if (isKeyAction(action)) {
    // A node of a previous version sends no owner.
    const owner = target.owner?.id === actor.userId ? undefined : (target.owner?.name ?? undefined);
    return describeKeyEvent({ action, name: target.name, owner, before, after });
  }
  const isOwn = actor.userId === target.id;
  const person: Piece = { name: target.name ?? target.id };
  switch (action) {
    case "workspace.created":
      return ["created the workspace ", quote(after?.name)];
    case "workspace.renamed":
      return ["renamed the workspace from ", quote(before?.name), " to ", quote(after?.name)];
    case "workspace.description-changed":
      return ["changed the description of the workspace"];
    case "workspace.second-factor-requirement-changed":
      return [
        after?.requiresSecondFactor === true
          ? "required a second factor from all members"
          : "stopped requiring a second factor from members",
      ];
    case "workspace.audit-retention-changed":
      return [
        `changed the audit log retention from ${retention(before?.auditRetentionDays)} to ${retention(after?.auditRetentionDays)}`,
      ];
    case "workspace.disabled":
      return ["disabled the workspace"];
    case "workspace.enabled":
      return ["enabled the workspace"];
    case "api-key-policy.changed":
      return ["changed the API key policy", ...describePolicy(after)];
    case "member.added":
      return ["added ", person, ` as ${role(after?.role)}`];
    case "member.role-changed": {
      const change = ` from ${text(before?.role)} to ${text(after?.role)}`;
      if (isOwn) return [`changed their own role${change}`];
      return target.userKind === "service_account"
        ? ["changed the role of the service account ", person, change]
        : ["changed ", person, `’s role${change}`];
    }
    case "member.removed":
      return isOwn
        ? [`left the workspace; was ${role(before?.role)}`]
        : ["removed ", person, `, who was ${role(before?.role)}`];
    case "member.joined":
      return [`joined as ${role(after?.role)}`, ...describeInviter(after?.invitedBy)];
    case "service-account.created":
      return ["created the service account ", quote(after?.name), ` as ${role(after?.role)}`];
    case "service-account.renamed":
      return ["renamed the service account ", quote(before?.name), " to ", quote(after?.name)];
    case "service-account.disabled":
      return ["disabled the service account ", person];
    case "service-account.enabled":
      return ["enabled the service account ", person];
    case "service-account.deleted":
      return ["deleted the service account ", quote(before?.name), ...describeKeyCount(before?.keys)];
    case "member.account-deleted":
      return isOwn
        ? [`deleted their account; was ${role(before?.role)}`]
        : ["deleted the account of ", person, `, who was ${role(before?.role)}`];
    case "ownership.offered":
      return ["offered ownership of the workspace to ", person];
    case "ownership.accepted":
      return ["accepted ownership of the workspace from ", { name: text(before?.owner) }];
    case "ownership.declined":
      return ["declined ownership of the workspace"];
    case "ownership.withdrawn":
      return ["withdrew the ownership offer to ", person];
    case "ownership.transferred":
      return ["transferred ownership from ", { name: text(before?.owner) }, " to ", person];
    case "invitation.created":
      return ["invited ", { name: text(after?.email) }, ` as ${role(after?.role)}`];
    case "invitation.resent":
      return ["resent the invitation for ", { name: text(after?.email) }];
    case "invitation.revoked":
      return ["revoked the invitation for ", { name: text(before?.email) }];
    case "keyspace.created":
      return ["created the keyspace ", quote(after?.name)];
    case "keyspace.changed":
      return ["changed the keyspace ", quote(after?.name)];
    case "keyspace.disabled":
      return ["disabled the keyspace ", quote(after?.name)];
    case "keyspace.enabled":
      return ["enabled the keyspace ", quote(after?.name)];
    case "keyspace.deleted":
      return ["deleted the keyspace ", quote(before?.name), ...describeIssuedKeyCount(before?.keys)];
    case "keyspace.keys-imported":
      return ["imported ", describeImported(after?.keys), " into the keyspace ", quote(after?.name)];
    case "issued-key.created":
      return [after?.isDisabled === true ? "issued the disabled key " : "issued the key ", issuedKey(after)];
    case "issued-key.changed":
      return ["changed the issued key ", issuedKey(after)];
    case "issued-key.disabled":
      return ["disabled the issued key ", issuedKey(after)];
    case "issued-key.enabled":
      return ["enabled the issued key ", issuedKey(after)];
    case "issued-key.rotated":
      return ["rotated the issued key ", issuedKey(after), describeOverlap(after?.overlapSeconds)];
    case "issued-key.secret-reissued":
      return ["replaced the unused secret of the issued key ", issuedKey(after)];
    case "issued-key.former-secrets-revoked":
      return ["revoked the old secrets of the issued key ", issuedKey(after)];
    case "issued-key.credits-changed":
      return ["changed the credits of the issued key ", issuedKey(after), ...describeBalance(before, after)];
    case "issued-key.deleted":
      return ["deleted the issued key ", issuedKey(before)];
    case "consumer.changed":
      return ["changed the limits of the consumer ", quote(after?.externalId)];
    case "webhook.created":
      return ["created a webhook to ", { name: text(after?.host) }];
    case "webhook.changed":
      return ["changed the webhook to ", { name: text(after?.host) }];
    case "webhook.enabled":
      return ["enabled a webhook"];
    case "webhook.disabled":
      return describeDisabledWebhook(after);
    case "webhook.secret-rotated":
      return ["rotated the secret of a webhook"];
    case "webhook.secret-reissued":
      return ["replaced the secret of a webhook, because the request that issued it was repeated"];
    case "webhook.deleted":
      return ["deleted the webhook to ", { name: text(before?.host) }];
    default:
      return [action satisfies never];
  }
}

/** A webhook that a person disabled, or that failed, with the host of its URL. */
function describeDisabledWebhook(after: AuditEvent["after"]): readonly Piece[] {
  const webhook = ["disabled the webhook to ", { name: text(after?.host) }];
  switch (after?.reason) {
    case "failures":
      return [...webhook, ", because no message was delivered for three days"];
    case "gone":
      return [...webhook, ", because its server responded with 410 Gone"];
    default:
      return ["disabled a webhook"];
  }
}

function describeKeyCount(count: Detail): readonly Piece[] {
  return typeof count === "number" && count > 0 ? [` with ${countOf(count, "API key", "API keys")}`] : [];
}

/** An issued key by its name, or if it has none, by its first characters. */
function issuedKey(details: AuditEvent["after"]): Piece {
  return quote(details?.name || details?.start || "imported key");
}

/** The balance before and after a change. The one before is null for a key without credits. */
function describeBalance(before: AuditEvent["before"], after: AuditEvent["after"]): readonly Piece[] {
  const [former, current] = [before?.credits, after?.credits];
  if (typeof current !== "number") return [];
  const start = typeof former === "number" ? ` from ${formatCount(former)}` : "";
  return [`${start} to ${formatCount(current)}`];
}

function describeIssuedKeyCount(count: Detail): readonly Piece[] {
  return typeof count === "number" && count > 0 ? [` with ${countOf(count, "key", "keys")}`] : [];
}

function describeImported(count: Detail): string {
  return typeof count === "number" ? countOf(count, "key", "keys") : "keys";
}

function describeInviter(name: Detail): readonly Piece[] {
  return typeof name === "string" ? [", invited by ", { name }] : [];
}

/** How each requirement of a policy is described, in this order. */
const policyTexts: Readonly<Record<string, DescribeDetail>> = {
  maxLifetimeDays: (days) =>
    typeof days === "number"
      ? `keys must expire within ${countOf(days, "day", "days")}`
      : "no maximum lifetime",
  isExpiryRequired: (is) => (is === true ? "expiry required" : "expiry not required"),
  areIpRangesRequired: (are) => (are === true ? "IP ranges required" : "no IP ranges required"),
  maxIdleDays: (days) =>
    typeof days === "number"
      ? `keys are rejected after ${countOf(days, "day", "days")} without use`
      : "no maximum idle time",
};

function describePolicy(details: AuditEvent["after"]): readonly Piece[] {
  return listTexts(policyTexts, details);
}

function role(detail: Detail): string {
  return isRole(detail) ? withArticle(detail) : text(detail);
}

function retention(days: Detail): string {
  return typeof days === "number" ? countOf(days, "day", "days") : "forever";
}
