import { maxLength } from "@latchkey/limits";
import type { AuditAction } from "../../server/action-titles.ts";
import type { Webhook } from "../../server/trpc.ts";
import { describeLengthError } from "../../ui/describe-length-error.ts";

/** The values of the form of a webhook. */
export interface WebhookValues {
  readonly url: string;
  readonly description: string;
  readonly hasAllActions: boolean;
  /** The selected actions, for a webhook that doesn't get all events. */
  readonly actions: readonly AuditAction[];
}

export const emptyWebhook: WebhookValues = { url: "", description: "", hasAllActions: true, actions: [] };

/** Returns the values of a webhook. */
export function valuesOf({ url, description, actions }: Webhook): WebhookValues {
  return { url, description, hasAllActions: actions === null, actions: actions ?? [] };
}

/** Validates each field. Returns the error to show, or null if the value is valid. */
export const webhookRules = {
  url(text: string): string | null {
    const url = URL.parse(text.trim());
    if (!url || !/^https?:$/.test(url.protocol))
      return "Enter a URL, for example https://example.com/webhooks.";
    if (url.username !== "" || url.password !== "") return "Remove the user name and password from the URL.";
    if (url.hash !== "") return "Remove the part of the URL after “#”.";
    return describeLengthError(url.href, maxLength.webhookUrl);
  },
  description: (description: string) => describeLengthError(description.trim(), maxLength.webhookDescription),
  actions: (actions: readonly AuditAction[], { hasAllActions }: WebhookValues): string | null =>
    hasAllActions || actions.length > 0 ? null : "Select at least one event.",
};

/** Returns the fields as the API expects them. */
export function fieldsOf({ url, description, hasAllActions, actions }: WebhookValues) {
  return { url: url.trim(), description: description.trim(), actions: hasAllActions ? null : [...actions] };
}
