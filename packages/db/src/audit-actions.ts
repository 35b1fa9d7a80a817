import type { KeyId, UserId } from "./ids.ts";

/** Who made a change: somebody in the web app, a key on behalf of its user, or the operator's command. */
export type Actor =
  | { readonly kind: "session"; readonly userId: UserId }
  | {
      readonly kind: "key";
      readonly userId: UserId;
      readonly keyId: KeyId;
      /** The digest, in base64, of the secret that was presented; written nowhere. */
      readonly digest: string;
    }
  | { readonly kind: "command" };

/** Where a change came from. */
export interface Origin {
  readonly actor: Actor;
  /** The client's IP address, as this node sees it. */
  readonly address: string | null;
  readonly requestId: string | null;
}

/**
 * What can happen to an API key. Each change is an audit event of every workspace that the key can reach before or after
 * it, and an event in the security log of the key's owner.
 */
export const keyActions = {
  "key.created": "key",
  "key.renamed": "key",
  "key.restricted": "key",
  "key.expanded": "key",
  "key.disabled": "key",
  "key.enabled": "key",
  "key.rotated": "key",
  "key.secret-reissued": "key",
  "key.former-secrets-revoked": "key",
  "key.deleted": "key",
} as const;

export type KeyAction = keyof typeof keyActions;

/** Everything that is ever written to the audit log, and what it happens to. */
export const auditActions = {
  ...keyActions,
  "workspace.created": "workspace",
  "workspace.renamed": "workspace",
  "workspace.description-changed": "workspace",
  "member.added": "member",
  "member.role-changed": "member",
  "member.removed": "member",
} as const;

export type AuditAction = keyof typeof auditActions;

export type Details = Readonly<Record<string, string | number | boolean | null>>;

/** A change in a workspace. `before` and `after` hold what changed, and never a secret. */
export interface Change {
  readonly action: AuditAction;
  /** The UUID of what it happened to. */
  readonly targetId: string;
  readonly before?: Details;
  readonly after?: Details;
}
