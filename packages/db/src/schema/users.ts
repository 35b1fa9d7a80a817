import type { ColumnType, Generated } from "kysely";
import type { AccountId, PasskeyId, SessionId, UserId, WorkspaceId } from "../ids.ts";
import type { CreatedAt } from "./columns.ts";

// Users, and how they sign in.

/** A person who can sign in, or a service account. */
export interface UserTable {
  id: UserId;
  /** In lower case. One account per address. For a service account, a placeholder that no query returns. */
  email: string;
  email_verified: Generated<boolean>;
  name: string;
  image: string | null;
  /** Whether the user is an operator of the instance. A trigger sets it for the first account, under a lock. */
  is_operator: ColumnType<boolean, never, boolean>;
  disabled_at: Date | null;
  /** The only workspace of a service account; null for a person. */
  service_workspace_id: ColumnType<WorkspaceId | null, WorkspaceId | undefined, never>;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

/** A deleted user, for the audit logs. */
export interface FormerUserTable {
  id: UserId;
  /** The name at the time of the deletion. */
  name: string;
  deleted_at: CreatedAt;
}

export interface SessionTable {
  id: SessionId;
  user_id: UserId;
  token: string;
  expires_at: Date;
  ip_address: string | null;
  user_agent: string | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
  /** Up to five minutes old. Null if the session hasn't been used since the upgrade that added this column. */
  last_used_at: Generated<Date | null>;
  /**
   * When the user last authenticated in this session, with a password, a passkey or the OpenID provider; null if that was
   * the sign-in.
   */
  authenticated_at: Date | null;
  /** Whether the user proved a second factor, at the sign-in or since. */
  has_second_factor: Generated<boolean>;
}

/** A sign-in method of a user: a password (`credential`) or an identity provider. */
export interface AccountTable {
  id: AccountId;
  user_id: UserId;
  account_id: string;
  provider_id: string;
  /** The argon2id hash in PHC form, for `credential` only. */
  password: string | null;
  access_token: string | null;
  refresh_token: string | null;
  id_token: string | null;
  access_token_expires_at: Date | null;
  refresh_token_expires_at: Date | null;
  scope: string | null;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

/** An identity of a user at an OpenID provider. */
export interface IdentityTable {
  issuer: string;
  subject: string;
  user_id: UserId;
  /** The email address at the provider when the identity was linked. */
  email: string | null;
  created_at: CreatedAt;
  last_used_at: Date | null;
}

/** A passkey of a user. */
export interface PasskeyTable {
  id: PasskeyId;
  user_id: UserId;
  /** The authenticator's ID of the credential, in base64url. */
  credential_id: string;
  /** In COSE format. */
  public_key: Buffer;
  /** The authenticator's count of signatures at the last use; 0 if it doesn't count. */
  sign_count: number;
  transports: readonly string[];
  name: string;
  created_at: CreatedAt;
  last_used_at: Date | null;
}

/** The authenticator app of a user. */
export interface TotpFactorTable {
  user_id: UserId;
  /** Encrypted, see `FactorSecrets`. */
  secret: Buffer;
  /** When the user entered the first code; null until then, and the factor has no effect. */
  confirmed_at: Date | null;
  /** The time step of the last accepted code. Codes of this step and earlier ones are rejected. */
  last_step: number | null;
  created_at: CreatedAt;
}

/** A recovery code of a user that has not been used. */
export interface RecoveryCodeTable {
  user_id: UserId;
  /** A keyed digest of the code, 32 bytes. */
  digest: Buffer;
}

export interface VerificationTable {
  id: string;
  identifier: string;
  value: string;
  expires_at: Date;
  created_at: Generated<Date>;
  updated_at: Generated<Date>;
}

/**
 * A token bucket that limits attempts. Every attempt moves `full_at` forward. A row with a time in the past is a full
 * bucket.
 */
export interface ThrottleBucketTable {
  /** A keyed digest of what is throttled, 32 bytes. */
  digest: Buffer;
  /** When the bucket will be full again. */
  full_at: Date;
}

/** A device or network that a user has signed in from. */
export interface SignInOriginTable {
  /** A keyed digest of the email address with the device or network, 32 bytes. */
  digest: Buffer;
  user_id: UserId;
  last_used_at: Date;
}

/** A kind of device that a user has signed in from, such as “Chrome on macOS”. */
export interface KnownDeviceTable {
  user_id: UserId;
  device: string;
  last_used_at: Date;
}
