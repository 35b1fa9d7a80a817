import type { KeyId, UserId, WorkspaceId } from "./ids.ts";

/** What a notice of each kind says, as it was when the notice was created. Never a secret. */
export interface NoticeFactsByKind {
  readonly invitation: {
    readonly workspaceName: string;
    readonly role: string;
    readonly inviterName: string | null;
  };
  readonly "role-changed": {
    readonly workspaceId: WorkspaceId;
    readonly workspaceName: string;
    readonly formerRole: string;
    readonly role: string;
  };
  readonly "key-expires-in-7-days": ExpiringKey;
  readonly "key-expires-in-1-day": ExpiringKey;
  readonly "former-secret-used": NoticedKey & { readonly address: string | null };
  readonly "new-network": NoticedKey & { readonly network: string };
  readonly "new-device": { readonly device: string; readonly address: string | null };
  readonly "quota-nearly-reached": {
    readonly quota: NoticedQuota;
    readonly count: number;
    readonly limit: number;
    /** Null for a quota of the user. */
    readonly workspaceId: WorkspaceId | null;
    readonly workspaceName: string | null;
    /**
     * The service account that the quota is about; absent for a quota of the user who gets the notice, or of a
     * workspace.
     */
    readonly serviceAccount?: NoticedKey["serviceAccount"];
  };
}

export interface NoticedKey {
  readonly keyId: KeyId;
  readonly keyName: string;
  /** The owner of the key and its workspace; absent for a key of the user who gets the notice. */
  readonly serviceAccount?: { readonly id: UserId; readonly name: string };
  readonly workspaceId?: WorkspaceId;
}

interface ExpiringKey extends NoticedKey {
  /** In ISO 8601, in UTC. */
  readonly expiresAt: string;
}

export const noticedQuotas = [
  "keysPerUser",
  "workspacesPerUser",
  "membersPerWorkspace",
  "serviceAccountsPerWorkspace",
  "invitationsPerWorkspace",
  "webhooksPerWorkspace",
  "keyspacesPerWorkspace",
  "issuedKeysPerWorkspace",
] as const;

/** The quotas for which there are notices that they are nearly reached. */
export type NoticedQuota = (typeof noticedQuotas)[number];

export type NoticeKind = keyof NoticeFactsByKind;
export type NoticeFacts = NoticeFactsByKind[NoticeKind];

/** A kind with its facts. */
export type NoticeContent = {
  readonly [Kind in NoticeKind]: { readonly kind: Kind; readonly facts: NoticeFactsByKind[Kind] };
}[NoticeKind];

/**
 * The kinds that may report a stolen secret or password. A request with an API key can't mark them as read, so that
 * someone with a stolen key can't hide the notice about its use. Turning them off requires recent authentication, so that
 * someone with a stolen session can't prevent the notice either.
 */
export const securityNoticeKinds = [
  "former-secret-used",
  "new-network",
  "new-device",
] as const satisfies readonly NoticeKind[];

export const noticeKinds = [
  "invitation",
  "role-changed",
  "key-expires-in-7-days",
  "key-expires-in-1-day",
  "former-secret-used",
  "new-network",
  "new-device",
  "quota-nearly-reached",
] as const satisfies readonly NoticeKind[];
