import type { Sessions } from "@latchkey/auth/sessions";
import type { SignInThrottle } from "@latchkey/auth/sign-in-throttle";
import type { Db } from "@latchkey/db/schema";
import { hasAnyUser } from "@latchkey/db/users";
import type { Quotas } from "./quotas.ts";
import type { SignInEvent } from "./sign-in-event.ts";

/** One running Latchkey: what it knows of itself, and what its parts share. */
export interface Instance {
  readonly db: Db;
  /** For reads alone; see `openPools`. */
  readonly readDb: Db;
  readonly readConnections: number;
  readonly sessions: Sessions;
  readonly signInThrottle: SignInThrottle;
  /** Logs what happens to accounts. */
  readonly report: (event: SignInEvent) => void;
  /** The address people and integrators use, without a slash at the end. */
  readonly baseUrl: string;
  /** Made once, at the start: to make it for each answer would cost. */
  readonly configuration: PublicConfiguration;
  readonly quotas: Quotas;
  /** Whose `X-Forwarded-For` is believed. */
  readonly isTrustedProxy: (address: string) => boolean;
}

/** What anybody may know of an instance. */
export interface PublicConfiguration {
  readonly name: string;
  readonly version: string;
  readonly baseUrl: string;
  readonly registration: "open" | "invite" | "closed";
  /** How people may prove who they are. */
  readonly authProviders: "password"[];
  readonly documentationUrl: string;
  readonly openapiUrl: string;
}

export function describeInstance({
  baseUrl,
  version,
  registration,
}: Pick<PublicConfiguration, "baseUrl" | "version" | "registration">): PublicConfiguration {
  return {
    name: "Latchkey",
    version,
    baseUrl,
    registration,
    authProviders: ["password"],
    documentationUrl: `${baseUrl}/docs`,
    openapiUrl: `${baseUrl}/openapi.json`,
  };
}

/** The instances that are known to have a user. Anybody can ask, so the database is asked only until there is one. */
const withUsers = new WeakSet<Instance>();

/** Whether anybody has an account. */
export async function hasAccounts(instance: Instance): Promise<boolean> {
  if (withUsers.has(instance)) return true;
  if (!(await hasAnyUser(instance.readDb))) return false;
  withUsers.add(instance);
  return true;
}
