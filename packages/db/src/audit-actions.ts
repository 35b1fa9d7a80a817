import type { KeyId, SessionId, UserId } from "./ids.ts";

/** Who made a change: a signed-in user, an API key on behalf of its owner, or the `latchkey` command. */
export type Actor =
  | {
      readonly kind: "session";
      readonly userId: UserId;
      /** The session, which must still be live when the change is made; absent while it is being opened. */
      readonly sessionId?: SessionId;
      /**
       * Whether the user has authenticated recently, with a password, a passkey or the OpenID provider. Sensitive changes
       * require it.
       */
      readonly isRecentlyAuthenticated: boolean;
      /** Whether the user acts as an operator of the instance, and not on their own account or as a member. */
      readonly isOperatorAction?: boolean;
    }
  | {
      readonly kind: "key";
      readonly userId: UserId;
      readonly keyId: KeyId;
      /** SHA-256 of the presented secret, in base64. It is not written to any log. */
      readonly digest: string;
    }
  | { readonly kind: "command" };

/** Latchkey itself, which disables a webhook that fails. It makes no other changes that are logged. */
export interface SystemActor {
  readonly kind: "system";
}

/** Whether the instance log records the changes of an actor. */
export function isOperatorActing(actor: Actor): boolean {
  return actor.kind === "command" || (actor.kind === "session" && actor.isOperatorAction === true);
}

/** The request of a change. */
export interface RequestOrigin {
  /** The client's IP address, as this node sees it. */
  readonly address: string | null;
  readonly requestId: string | null;
  /** The User-Agent, shortened. Absent for the command. Only the security logs of users store it. */
  readonly userAgent?: string | null;
}

/** The actor and the request of a change. */
export interface Origin extends RequestOrigin {
  readonly actor: Actor;
}

/** The origin of an event in the audit log of a workspace. */
export type AuditOrigin = Omit<RequestOrigin, "userAgent"> & { readonly actor: Actor | SystemActor };

/**
 * The changes to an API key that are logged. Each one adds an audit event to every workspace that the key can access
 * before or after the change, and an event to the security log of the key's owner.
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

/** What happens to an account, in the security log of its user. */
export const accountActions = [
  "account.renamed",
  "account.email-change-requested",
  "account.email-changed",
  "account.email-verified",
  "notice-setting.changed",
  "password.changed",
  "password.reset",
  "password.reset-link-created",
  "password.reset-link-emailed",
  "password.set",
  "identity.linked",
  "identity.unlinked",
  "totp.enabled",
  "totp.disabled",
  "passkey.added",
  "passkey.renamed",
  "passkey.removed",
  "recovery-codes.created",
  "recovery-code.used",
  "second-factor.failed",
  "second-factors.reset",
  "sign-in.succeeded",
  "sign-in.failed",
  "session.ended",
  "session.signed-out",
] as const;

export type AccountAction = (typeof accountActions)[number];

/** Every action in the audit log, with the kind of its target. */
export const auditActions = {
  ...keyActions,
  "workspace.created": "workspace",
  "workspace.renamed": "workspace",
  "workspace.description-changed": "workspace",
  "workspace.second-factor-requirement-changed": "workspace",
  "workspace.audit-retention-changed": "workspace",
  "workspace.disabled": "workspace",
  "workspace.enabled": "workspace",
  "api-key-policy.changed": "workspace",
  "key.blocked": "key",
  "key.unblocked": "key",
  "member.added": "member",
  "member.role-changed": "member",
  "member.removed": "member",
  "member.joined": "member",
  "service-account.created": "member",
  "service-account.renamed": "member",
  "service-account.disabled": "member",
  "service-account.enabled": "member",
  "service-account.deleted": "member",
  "member.account-deleted": "member",
  "ownership.offered": "member",
  "ownership.accepted": "member",
  "ownership.declined": "member",
  "ownership.withdrawn": "member",
  "ownership.transferred": "member",
  "invitation.created": "invitation",
  "invitation.resent": "invitation",
  "invitation.revoked": "invitation",
  "keyspace.created": "keyspace",
  "keyspace.changed": "keyspace",
  "keyspace.disabled": "keyspace",
  "keyspace.enabled": "keyspace",
  "keyspace.deleted": "keyspace",
  "keyspace.keys-imported": "keyspace",
  "issued-key.created": "issued-key",
  "issued-key.changed": "issued-key",
  "issued-key.disabled": "issued-key",
  "issued-key.enabled": "issued-key",
  "issued-key.rotated": "issued-key",
  "issued-key.secret-reissued": "issued-key",
  "issued-key.former-secrets-revoked": "issued-key",
  "issued-key.credits-changed": "issued-key",
  "issued-key.deleted": "issued-key",
  "consumer.changed": "consumer",
  "webhook.created": "webhook",
  "webhook.changed": "webhook",
  "webhook.enabled": "webhook",
  "webhook.disabled": "webhook",
  "webhook.secret-rotated": "webhook",
  "webhook.secret-reissued": "webhook",
  "webhook.deleted": "webhook",
} as const;

export type AuditAction = keyof typeof auditActions;

export type Details = Readonly<Record<string, string | number | boolean | null>>;

/** A change in a workspace. `before` and `after` contain the changed values, and never a secret. */
export interface Change {
  readonly action: AuditAction;
  /** The UUID of the target. */
  readonly targetId: string;
  readonly before?: Details;
  readonly after?: Details;
}
