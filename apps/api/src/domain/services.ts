import type { FactorSecrets } from "@latchkey/auth/factor-secrets";
import { type RelyingParty, relyingPartyOf } from "@latchkey/auth/relying-party";
import type { SealedSecrets } from "@latchkey/auth/sealed-secrets";
import type { Sessions } from "@latchkey/auth/sessions";
import type { SignInThrottle } from "@latchkey/auth/sign-in-throttle";
import type { Db } from "@latchkey/db/schema";
import { hasAnyUser } from "@latchkey/db/users";
import type { Deadlines } from "../deadlines.ts";
import type { OpenidProvider } from "./openid-provider.ts";
import type { Quotas } from "./quotas.ts";
import type { SignInEvent } from "./sign-in-event.ts";

/** A running node: its configuration, and the services that its parts share. */
export interface Services {
  readonly db: Db;
  /** For reads only; see `openPools`. */
  readonly readDb: Db;
  readonly readConnections: number;
  /** The number of connections of `db`. */
  readonly changeConnections: number;
  readonly sessions: Sessions;
  readonly signInThrottle: SignInThrottle;
  /** Protects the stored secrets of second factors. */
  readonly factorSecrets: FactorSecrets;
  /** Logs what happens to accounts. */
  readonly report: (event: SignInEvent) => void;
  /** The public base URL, without a slash at the end. */
  readonly baseUrl: string;
  /** The origin of passkeys; undefined if browsers offer none to this instance. */
  readonly relyingParty: RelyingParty | undefined;
  /** The OpenID provider with which people can sign in; undefined without one. */
  readonly openid: OpenidProvider | undefined;
  /** Created once at the start, rather than for each response. */
  readonly configuration: PublicConfiguration;
  /** How long counts of requests and verifications are kept, in days. */
  readonly historyDays: number;
  readonly quotas: Quotas;
  readonly deadlines: Deadlines;
  /** Whether the instance emails links. Without an SMTP server, they are shown to the inviter or the operator. */
  readonly sendsEmail: boolean;
  /** Encrypts the secrets of webhooks. */
  readonly webhookSecrets: SealedSecrets;
  /** Whether webhooks may have URLs without TLS, because messages may be sent to private addresses. */
  readonly allowsPlainWebhooks: boolean;
  /** Whether the `X-Forwarded-For` header of this peer is trusted. */
  readonly isTrustedProxy: (ipAddress: string) => boolean;
}

/** The ways to sign in. */
export const authProviders = ["password", "passkey", "openid"] as const;

/** The configuration of an instance that needs no authentication. */
export interface PublicConfiguration {
  readonly name: string;
  readonly version: string;
  readonly baseUrl: string;
  readonly registration: "open" | "invite" | "closed";
  readonly authProviders: (typeof authProviders)[number][];
  readonly documentationUrl: string;
  readonly openapiUrl: string;
}

export function describeInstance({
  baseUrl,
  version,
  registration,
  hasOpenid,
}: Pick<PublicConfiguration, "baseUrl" | "version" | "registration"> & {
  /** Whether people can sign in with an OpenID provider. */
  readonly hasOpenid: boolean;
}): PublicConfiguration {
  const isAvailable = { password: true, passkey: relyingPartyOf(baseUrl) !== undefined, openid: hasOpenid };
  return {
    name: "Latchkey",
    version,
    baseUrl,
    registration,
    authProviders: authProviders.filter((provider) => isAvailable[provider]),
    documentationUrl: `${baseUrl}/docs`,
    openapiUrl: `${baseUrl}/openapi.json`,
  };
}

/** The instances that have a user. Anyone can call this, so the database is queried only until there is a user. */
const instancesWithUsers = new WeakSet<Services>();

/** Whether any user exists. */
export async function hasAccounts(services: Services): Promise<boolean> {
  if (instancesWithUsers.has(services)) return true;
  if (!(await hasAnyUser(services.readDb))) return false;
  instancesWithUsers.add(services);
  return true;
}
