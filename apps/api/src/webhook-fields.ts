import { auditActions } from "@latchkey/db/audit-actions";
import { maxLength } from "@latchkey/limits";
import { z } from "zod";
import { multilineText } from "./fields.ts";
import { customIssue } from "./issues.ts";
import { auditAction } from "./presenters/audit-event.ts";

const urlHelp =
  "Enter a URL such as https://example.com/webhooks, without a user name, password or fragment.";

/** The URL of a webhook. The domain checks whether it may have no TLS. */
const webhookUrl = z
  .string()
  .trim()
  .max(maxLength.webhookUrl, `Use at most ${maxLength.webhookUrl} characters.`)
  .refine(isWebhookUrl, customIssue("invalid_format", urlHelp))
  .transform((text) => new URL(text).href)
  .meta({
    description:
      "Messages are sent to this URL with POST. It must start with `https://`, unless the operator allows private networks.",
    format: "uri",
    maxLength: maxLength.webhookUrl,
    pattern: "^\\s*[Hh][Tt][Tt][Pp][Ss]?://[^\\s#]+\\s*$",
    example: "https://example.com/webhooks",
  });

function isWebhookUrl(text: string): boolean {
  const url = URL.parse(text);
  return (
    url !== null &&
    /^https?:$/.test(url.protocol) &&
    url.username === "" &&
    url.password === "" &&
    url.hash === "" &&
    url.href.length <= maxLength.webhookUrl
  );
}

const actions = z
  .array(auditAction)
  .min(1, "Select at least one event, or use null for all.")
  .max(Object.keys(auditActions).length)
  .transform((selected) => [...new Set(selected)])
  .nullable()
  .meta({
    description: "The actions whose audit events are sent; null for all, including future ones.",
    example: ["member.removed", "key.created"],
  });

const description = multilineText(maxLength.webhookDescription).meta({ example: "Our SIEM." });

/** The fields of a new webhook. */
export const newWebhookFields = {
  url: webhookUrl,
  description: description.default(""),
  actions: actions.default(null),
};

/** The fields of an edit. Each one is optional. */
export const webhookChanges = {
  url: webhookUrl.exactOptional(),
  description: description.exactOptional(),
  actions: actions.exactOptional(),
  isDisabled: z
    .boolean()
    .meta({
      description:
        "If `true`, no more messages are sent. A pending message fails when its next attempt is due, unless the webhook is enabled before that.",
      example: false,
    })
    .exactOptional(),
};
