import { encodeId, type UserId } from "@latchkey/db/ids";
import { maxLength } from "@latchkey/limits";
import { z } from "zod";
import * as fields from "./fields.ts";

// Response schemas describe formats and don't check them again: the product made these values, or checked them when
// they came in, and checking doubles the time that a page of members takes (docs/decisions/0008). Tests compare every
// response with the OpenAPI document, formats included.

/** A time in a response, in ISO 8601, in UTC. */
export const timestamp = z
  .string()
  .meta({ format: "date-time", pattern: "Z$", maxLength: 24, example: "2026-03-01T09:30:00.000Z" });

/** A URL in a response. */
export const shownUrl = z.string().meta({ format: "uri", maxLength: maxLength.url });

/** A text in a response, of at most `length` characters. */
export function shownText(length: number) {
  return z.string().meta({ maxLength: length });
}

/** A person's name in a response. */
export const shownPersonName = shownText(maxLength.personName);

/** A client's IP address in a response. */
export const shownAddress = shownText(maxLength.ipAddress);

/** The name of something that the product defines, in a response. */
export const shownIdentifier = shownText(maxLength.identifier);

/** An email address in a response. */
export const shownEmail = z
  .string()
  .meta({ format: "email", maxLength: maxLength.email, example: "ada@example.com" });

/** The email address of a user in a response. */
export const shownUserEmail = shownEmail.nullable().meta({ description: "Null for a service account." });

/** The kind of a user in a response. */
export const shownUserKind = fields.userKind.meta({
  description:
    "`service_account`: a member that is not a person. It can't sign in, and belongs to one workspace.",
  example: "person",
});

/** The version of a resource, which an edit can require with `If-Match`. */
export const version = z.int().min(1).meta({
  description:
    "Increases with every edit that changes something. What the resource shows from elsewhere, such as the name of a user or a number of keys, can change without it. In quotes, `If-Match` accepts it instead of an `ETag`.",
  example: 3,
});

/** Whether a response that issues a secret contains it. A member next to the member for the secret. */
export const secretStatus = z.enum(["issued", "reissued", "omitted"]).meta({
  description:
    "`issued`: the response has the new secret. `reissued`: you sent the request before, and the secret of the earlier response was never used; it is no longer valid, and the response has the one that replaces it. The secret of a webhook is replaced even if it has signed messages. `omitted`: you sent the request before, and the secret of the earlier response has been used or is no longer the current one; the response has no secret.",
  example: "issued",
});

/** The UUID of the example IDs. */
const exampleUuid = "01890a5d-ac96-774b-bcce-b302099a8057";

type Kind = Parameters<typeof encodeId>[0];

/** Describes IDs in the OpenAPI document, without checking them: IDs are checked when they are decoded. */
function describeIds(...kinds: readonly Kind[]) {
  const examples = kinds.map((kind) => encodeId(kind, exampleUuid as UserId)); // The same example for every kind.
  const prefixes = examples.map((example) => example.replace(/_.*/, ""));
  const prefix = prefixes.length === 1 ? prefixes[0] : `(?:${prefixes.join("|")})`;
  const maxLength = Math.max(...examples.map((example) => example.length));
  return { pattern: `^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`, maxLength, example: examples.at(-1) };
}

/** An ID of one of these kinds in a response. */
export function shownId(...kinds: readonly Kind[]) {
  return z.string().meta(describeIds(...kinds));
}

/** Not checked again: admission has decoded it, and rejected (403) anything that isn't a workspace of the caller. */
const workspaceId = shownId("workspace").meta({ description: "The ID of the workspace." });

/** A user's ID in a path or a query. */
export const userId = fields.userId.meta(describeIds("user"));

/** The ID of an audit event's target in a query. */
export const auditTargetId = fields.auditTargetId.meta(
  describeIds("workspace", "webhook", "keyspace", "issuedKey", "consumer", "invitation", "key", "user"),
);

/** The parameters of a path in a workspace. */
export const workspaceParams = z.strictObject({ workspaceId });

/** The parameters of a path to an invitation. */
export const invitationParams = z.strictObject({
  workspaceId,
  invitationId: fields.invitationId.meta({
    ...describeIds("invitation"),
    description: "The ID of the invitation.",
  }),
});

/** The parameters of a path to a webhook. */
export const webhookParams = z.strictObject({
  workspaceId,
  webhookId: fields.webhookId.meta({ ...describeIds("webhook"), description: "The ID of the webhook." }),
});

/** The parameters of a path to a keyspace. */
export const keyspaceParams = z.strictObject({
  workspaceId,
  keyspaceId: fields.keyspaceId.meta({ ...describeIds("keyspace"), description: "The ID of the keyspace." }),
});

/** The parameters of a path to an issued key. */
export const issuedKeyParams = keyspaceParams.extend({
  issuedKeyId: fields.issuedKeyId.meta({
    ...describeIds("issuedKey"),
    description: "The ID of the issued key.",
  }),
});

/** The parameters of a path to a delivery. */
export const deliveryParams = webhookParams.extend({
  deliveryId: fields.deliveryId.meta({ ...describeIds("delivery"), description: "The ID of the delivery." }),
});

/** The parameters of a path to a notice. */
export const noticeParams = z.strictObject({
  noticeId: fields.noticeId.meta({ ...describeIds("notice"), description: "The ID of the notice." }),
});

/** The parameters of a path to a service account. */
export const serviceAccountParams = z.strictObject({
  workspaceId,
  userId: userId.meta({ description: "The ID of the service account." }),
});

/** The parameters of a path to an API key of a service account. */
export const serviceKeyParams = serviceAccountParams.extend({
  keyId: fields.keyId.meta({ ...describeIds("key"), description: "The ID of the API key." }),
});

/** The parameters of a path to a member. */
export const memberParams = z.strictObject({
  workspaceId,
  userId: userId.meta({ description: "The ID of the member's user." }),
});
