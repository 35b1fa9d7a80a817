import { randomUUIDv7 } from "node:crypto";
import { TypeID } from "typeid-js";

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** A user's UUIDv7, as Postgres holds it. */
export type UserId = Branded<"user">;
/** A workspace's UUIDv7, as Postgres holds it. */
export type WorkspaceId = Branded<"workspace">;
/** An API key's UUIDv7, as Postgres holds it; it identifies the key and is not its secret. */
export type KeyId = Branded<"key">;
/** The UUIDv7 of a user's way to sign in. */
export type AccountId = Branded<"account">;
/** The UUIDv7 of an event in a workspace's audit log. */
export type AuditEventId = Branded<"auditEvent">;
/** The UUIDv7 of a refused request with a key. */
export type KeyRefusalId = Branded<"keyRefusal">;
/** The UUIDv7 of an event in a user's security log. */
export type SecurityEventId = Branded<"securityEvent">;
/** A session's UUIDv7, as Postgres holds it. */
export type SessionId = Branded<"session">;

interface Ids {
  user: UserId;
  workspace: WorkspaceId;
  key: KeyId;
  account: AccountId;
  session: SessionId;
  auditEvent: AuditEventId;
  keyRefusal: KeyRefusalId;
  securityEvent: SecurityEventId;
}

const prefixes = {
  user: "usr",
  workspace: "ws",
  key: "key",
  account: "acc",
  session: "ses",
  auditEvent: "evt",
  keyRefusal: "ref",
  securityEvent: "sec",
} as const satisfies Record<keyof Ids, string>;

/**
 * A fresh id. UUIDv7 begins with the time in milliseconds, so that new rows stand together in an index.
 * @param at the time to begin with; the node's own by default.
 */
export function createId<Kind extends keyof Ids>(_kind: Kind, at?: Date): Ids[Kind] {
  const id = randomUUIDv7();
  return (at ? withTime(id, at) : id) as Ids[Kind]; // A new UUID has no meaning yet: the caller's kind gives it one.
}

function withTime(id: string, at: Date): string {
  const time = at.getTime().toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}${id.slice(13)}`;
}

/**
 * Writes an id the way clients see it, such as `key_01h455vb4pex5vsknk084sn02q`.
 * @see https://github.com/jetify-com/typeid/tree/main/spec
 */
export function encodeId<Kind extends keyof Ids>(kind: Kind, id: Ids[Kind]): string {
  return TypeID.fromUUID(prefixes[kind], id).toString();
}

/** Reads an id that a client sent; undefined unless it is a well-formed TypeID of this kind. */
export function decodeId<Kind extends keyof Ids>(kind: Kind, text: string): Ids[Kind] | undefined {
  const match = typeIdForm.exec(text);
  if (!match || match[1] !== prefixes[kind]) return undefined;
  return TypeID.fromString(text, prefixes[kind]).toUUID() as Ids[Kind]; // The prefix has proved the kind.
}

// 26 characters of Crockford's base32 hold 130 bits; a first character above 7 would overflow a UUID's 128.
const typeIdForm = /^([a-z]+)_[0-7][0-9a-hjkmnp-tv-z]{25}$/;
