import { randomUUIDv7 } from "node:crypto";
import { decodeSuffix, encodeSuffix } from "./typeid.ts";

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** A user's UUIDv7, as stored in Postgres. */
export type UserId = Branded<"user">;
/** The UUIDv7 of a keyspace. */
export type KeyspaceId = Branded<"keyspace">;
/** The UUIDv7 of a key that a workspace issued. It identifies the key and is not its secret. */
export type IssuedKeyId = Branded<"issuedKey">;
/** The UUIDv7 of a consumer of a workspace's API. In paths, clients use the consumer's `externalId` instead. */
export type ConsumerId = Branded<"consumer">;
/** A workspace's UUIDv7, as stored in Postgres. */
export type WorkspaceId = Branded<"workspace">;
/** An API key's UUIDv7, as stored in Postgres. It identifies the key and is not its secret. */
export type KeyId = Branded<"key">;
/** The UUIDv7 of a user's sign-in method. */
export type AccountId = Branded<"account">;
/** The UUIDv7 of an event in a workspace's audit log. */
export type AuditEventId = Branded<"auditEvent">;
/** The UUIDv7 of a rejected request with a key. */
export type KeyRejectionId = Branded<"keyRejection">;
/** The UUIDv7 of an event in a user's security log. */
export type SecurityEventId = Branded<"securityEvent">;
/** A session's UUIDv7, as stored in Postgres. */
export type SessionId = Branded<"session">;
/** The UUIDv7 of an invitation to a workspace. */
export type InvitationId = Branded<"invitation">;
/** A passkey's UUIDv7, as stored in Postgres. */
export type PasskeyId = Branded<"passkey">;
/** The UUIDv7 of a webhook of a workspace. */
export type WebhookId = Branded<"webhook">;
/** The UUIDv7 of the delivery of one event to one webhook. */
export type DeliveryId = Branded<"delivery">;
/** The UUIDv7 of an event in the instance log. */
export type InstanceEventId = Branded<"instanceEvent">;
/** The UUIDv7 of a notice to a user. */
export type NoticeId = Branded<"notice">;

interface Ids {
  user: UserId;
  workspace: WorkspaceId;
  key: KeyId;
  account: AccountId;
  session: SessionId;
  auditEvent: AuditEventId;
  keyRejection: KeyRejectionId;
  securityEvent: SecurityEventId;
  invitation: InvitationId;
  passkey: PasskeyId;
  webhook: WebhookId;
  delivery: DeliveryId;
  instanceEvent: InstanceEventId;
  notice: NoticeId;
  keyspace: KeyspaceId;
  issuedKey: IssuedKeyId;
  consumer: ConsumerId;
}

const prefixes = {
  user: "usr",
  workspace: "ws",
  key: "key",
  account: "acc",
  session: "ses",
  auditEvent: "evt",
  keyRejection: "ref",
  securityEvent: "sec",
  invitation: "inv",
  passkey: "psk",
  webhook: "whk",
  delivery: "dlv",
  instanceEvent: "iev",
  notice: "ntc",
  keyspace: "ks",
  issuedKey: "ikey",
  consumer: "csm",
} as const satisfies Record<keyof Ids, string>;

/**
 * Creates an ID. A UUIDv7 starts with the time in milliseconds, so that new rows are adjacent in an index.
 * @param at the time that the ID starts with; the node's clock by default.
 */
export function createId<Kind extends keyof Ids>(_kind: Kind, at?: Date): Ids[Kind] {
  const id = randomUUIDv7();
  return (at ? withTime(id, at) : id) as Ids[Kind]; // A new UUID identifies nothing yet, so any kind is correct.
}

function withTime(id: string, at: Date): string {
  const time = at.getTime().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}${id.slice(13)}`;
}

/**
 * Encodes an ID for clients, such as `key_01h455vb4pex5vsknk084sn02q`.
 * @see https://github.com/jetify-com/typeid/tree/main/spec
 */
export function encodeId<Kind extends keyof Ids>(kind: Kind, id: Ids[Kind]): string {
  return `${prefixes[kind]}_${encodeSuffix(id)}`;
}

/** Decodes an ID that a client sent. Returns undefined unless it is a well-formed TypeID of this kind. */
export function decodeId<Kind extends keyof Ids>(kind: Kind, text: string): Ids[Kind] | undefined {
  const match = typeIdForm.exec(text);
  if (!match || match[1] !== prefixes[kind]) return undefined;
  return decodeSuffix(match[2] ?? "") as Ids[Kind]; // The prefix was checked above.
}

// 26 characters of Crockford's base32 hold 130 bits; a first character above 7 would overflow a UUID's 128.
const typeIdForm = /^([a-z]+)_([0-7][0-9a-hjkmnp-tv-z]{25})$/;
