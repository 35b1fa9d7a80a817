import { resolve } from "node:path";
import { isIpRange } from "@latchkey/auth/ip-ranges";
import { maxLength } from "@latchkey/limits";
import { z } from "zod";
import { defaultQuotas, type Quotas } from "./domain/quotas.ts";
import { fileVariables, readFileVariables } from "./file-variables.ts";
import { findUnknownVariables, type UnknownVariable } from "./unknown-variables.ts";
import { explainInvalidDatabaseUrl, isIssuer, isSmtpUrl, isWebOrigin } from "./url-settings.ts";

/** The configuration of a process, parsed from the environment. Names include units. */
export interface Env {
  readonly host: string;
  /** 0 for a free port that the system chooses. */
  readonly port: number;
  /** Without a slash at the end; undefined until host and port are known. */
  readonly baseUrl: string | undefined;
  readonly databaseUrl: string | undefined;
  /** How many connections the open API and the web app each have, for writes and for reads. */
  readonly changeConnections: number;
  readonly readConnections: number;
  /** An absolute path. */
  readonly dataDirectory: string;
  readonly authSecret: string | undefined;
  readonly registration: "open" | "invite" | "closed";
  /** The server that sends email; undefined if the instance sends none. */
  readonly smtpUrl: string | undefined;
  /** The sender of emails; undefined for an email address at the host of the base URL. */
  readonly mailFrom: string | undefined;
  /** The OpenID provider; undefined if people sign in without one. */
  readonly openid: OpenidSettings | undefined;
  /** The origins whose pages may call the open API, serialized as browsers send them. */
  readonly corsOrigins: readonly string[];
  /** Ranges of IP addresses whose `X-Forwarded-For` is trusted. */
  readonly trustedProxies: readonly string[];
  /** Private or loopback ranges of IP addresses to which webhooks may send messages, even without TLS. */
  readonly webhookNetworks: readonly string[];
  /** How long the hourly history of keys is kept, in days. */
  readonly historyDays: number;
  /** How long the instance log is kept, in days. */
  readonly instanceLogDays: number;
  /** A sign-in beyond this ends the user's oldest session. */
  readonly maxSessionsPerUser: number;
  /** Sign-ups per network: an IPv4 address or an IPv6 /64 network. */
  readonly maxSignUpsPerHour: number;
  readonly quotas: Quotas;
  /** Whether each request to the open API and to tRPC is logged. */
  readonly hasRequestLog: boolean;
  readonly logLevel: "fatal" | "error" | "warn" | "info" | "debug";
  /** A sentence for each variable that is set and has no effect, but resembles a variable that Latchkey reads. */
  readonly warnings: readonly string[];
}

/** An OpenID provider, and this instance's registration there. */
export interface OpenidSettings {
  /** The URL under which the provider publishes its configuration. */
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined;
  /** The name of the provider, for buttons and messages. */
  readonly name: string;
}

/** A variable has an invalid value. The message names the variable and says which values are allowed. */
export class EnvError extends Error {
  override readonly name = "EnvError";
}

const optional = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => (value === "" ? undefined : value), schema.optional());

const maxStored = optional(
  z
    .string()
    .regex(/^[1-9]\d{0,6}$/, "must be a number from 1 to 9999999")
    .transform(Number),
);

const portMessage = "must be a number from 0 to 65535";
const originMessage = "must be a URL without a path, such as https://keys.example.com";

const smtpMessage = "must be a URL such as smtps://user:password@mail.example.com";
const senderMessage =
  "must be an email address, or a name and email address such as Latchkey <keys@example.com>";

const issuerMessage =
  "must be a URL with https, such as https://id.example.com, or with http at a loopback address";

const quota = z
  .string()
  .regex(/^[1-9]\d{0,3}$/, "must be a number from 1 to 9999")
  .transform(Number);

const schema = z.object({
  HOST: optional(z.string()),
  PORT: optional(
    z
      .string()
      .regex(/^\d{1,5}$/, portMessage)
      .transform(Number)
      .refine((port) => port <= 65_535, portMessage),
  ),
  BASE_URL: optional(
    z
      .string()
      .refine(isWebOrigin, { error: originMessage, abort: true })
      .refine(
        (url) => new URL(url).origin.length <= maxLength.origin,
        "must have a host name of at most 253 characters",
      ),
  ),
  DATABASE_URL: optional(
    z.string().superRefine((url, context) => {
      const message = explainInvalidDatabaseUrl(url);
      if (message) context.addIssue({ code: "custom", message });
    }),
  ),
  DATABASE_CHANGE_CONNECTIONS: optional(poolSize()),
  DATABASE_READ_CONNECTIONS: optional(poolSize()),
  DATA_DIR: optional(z.string()),
  AUTH_SECRET: optional(z.string().min(32, "must have at least 32 random characters")),
  SMTP_URL: optional(z.string().refine(isSmtpUrl, smtpMessage)),
  MAIL_FROM: optional(
    z.string().regex(/^[^\r\n<>]*<[^\s<>@]+@[^\s<>@]+>$|^[^\s<>@]+@[^\s<>@]+$/, senderMessage),
  ),
  OIDC_ISSUER: optional(z.string().refine(isIssuer, issuerMessage)),
  OIDC_CLIENT_ID: optional(z.string().max(512, "must have at most 512 characters")),
  OIDC_CLIENT_SECRET: optional(z.string()),
  OIDC_NAME: optional(z.string().regex(/^[^\p{Control}]{1,40}$/u, "must have at most 40 characters")),
  REGISTRATION: optional(z.enum(["open", "invite", "closed"], "must be open, invite or closed")),
  TRUSTED_PROXIES: optional(ipRanges()),
  WEBHOOK_NETWORKS: optional(ipRanges()),
  CORS_ORIGINS: optional(
    z
      .string()
      .transform((text) => text.split(",").map((origin) => origin.trim()))
      .refine(
        // URL parsing accepts a wildcard as part of a host name.
        (origins) => origins.every((origin) => isWebOrigin(origin) && !origin.includes("*")),
        "must be origins such as https://app.example.com, separated by commas",
      ),
  ),
  HISTORY_DAYS: optional(
    z
      .string()
      .regex(/^[1-9]\d{0,3}$/, "must be a number of days from 1 to 9999")
      .transform(Number),
  ),
  INSTANCE_LOG_DAYS: optional(
    z
      .string()
      .regex(/^([3-9]\d|[1-9]\d{2,3})$/, "must be a number of days from 30 to 9999")
      .transform(Number),
  ),
  MAX_SESSIONS_PER_USER: optional(quota),
  MAX_SIGN_UPS_PER_HOUR: optional(quota),
  MAX_KEYS_PER_USER: maxStored,
  MAX_WORKSPACES_PER_USER: maxStored,
  MAX_MEMBERSHIPS_PER_USER: maxStored,
  MAX_MEMBERS_PER_WORKSPACE: maxStored,
  MAX_SERVICE_ACCOUNTS_PER_WORKSPACE: maxStored,
  MAX_INVITATIONS_PER_WORKSPACE: maxStored,
  MAX_WEBHOOKS_PER_WORKSPACE: maxStored,
  MAX_KEYSPACES_PER_WORKSPACE: maxStored,
  MAX_ISSUED_KEYS_PER_WORKSPACE: maxStored,
  MAX_INVITATIONS_PER_HOUR: maxStored,
  MAX_KEY_CHANGES_PER_HOUR: maxStored,
  // One request can rotate or enable 1,000 keys.
  MAX_ISSUED_SECRETS_PER_HOUR: optional(
    z
      .string()
      .regex(/^[1-9]\d{3,6}$/, "must be a number from 1000 to 9999999")
      .transform(Number),
  ),
  REQUEST_LOG: optional(z.enum(["on", "off"], "must be on or off")),
  LOG_LEVEL: optional(
    z.enum(["fatal", "error", "warn", "info", "debug"], "must be fatal, error, warn, info or debug"),
  ),
});

/**
 * Reads the environment, or the given variables.
 * @throws {EnvError} with one sentence that names every invalid variable.
 */
export function readEnv(variables: NodeJS.ProcessEnv = process.env): Env {
  const { variables: resolved, faults, sourceOf } = readFileVariables(variables, projectRoot);
  const { data, error } = schema.safeParse(resolved);
  if (error || faults.length > 0) {
    const issues = error?.issues.map((issue) => `${sourceOf(issue.path.join("."))} ${issue.message}`) ?? [];
    throw new EnvError(`${[...faults, ...issues].join("; ")}.`);
  }
  const openid = readOpenid(data);
  return {
    host: data.HOST ?? "127.0.0.1",
    port: data.PORT ?? 4000,
    baseUrl: data.BASE_URL && new URL(data.BASE_URL).origin,
    databaseUrl: data.DATABASE_URL,
    changeConnections: data.DATABASE_CHANGE_CONNECTIONS ?? 5,
    readConnections: data.DATABASE_READ_CONNECTIONS ?? 5,
    dataDirectory: resolve(projectRoot, data.DATA_DIR ?? ".data"),
    authSecret: data.AUTH_SECRET,
    registration: data.REGISTRATION ?? "open",
    smtpUrl: data.SMTP_URL,
    mailFrom: data.MAIL_FROM,
    openid,
    corsOrigins: (data.CORS_ORIGINS ?? []).map((origin) => new URL(origin).origin),
    trustedProxies: data.TRUSTED_PROXIES ?? [],
    webhookNetworks: data.WEBHOOK_NETWORKS ?? [],
    historyDays: data.HISTORY_DAYS ?? 90,
    instanceLogDays: data.INSTANCE_LOG_DAYS ?? 365,
    maxSessionsPerUser: data.MAX_SESSIONS_PER_USER ?? 50,
    maxSignUpsPerHour: data.MAX_SIGN_UPS_PER_HOUR ?? 20,
    quotas: {
      keysPerUser: data.MAX_KEYS_PER_USER ?? defaultQuotas.keysPerUser,
      workspacesPerUser: data.MAX_WORKSPACES_PER_USER ?? defaultQuotas.workspacesPerUser,
      // Users can be members of the workspaces that they may own.
      membershipsPerUser:
        data.MAX_MEMBERSHIPS_PER_USER ??
        Math.max(defaultQuotas.membershipsPerUser, data.MAX_WORKSPACES_PER_USER ?? 0),
      membersPerWorkspace: data.MAX_MEMBERS_PER_WORKSPACE ?? defaultQuotas.membersPerWorkspace,
      serviceAccountsPerWorkspace:
        data.MAX_SERVICE_ACCOUNTS_PER_WORKSPACE ?? defaultQuotas.serviceAccountsPerWorkspace,
      invitationsPerWorkspace: data.MAX_INVITATIONS_PER_WORKSPACE ?? defaultQuotas.invitationsPerWorkspace,
      webhooksPerWorkspace: data.MAX_WEBHOOKS_PER_WORKSPACE ?? defaultQuotas.webhooksPerWorkspace,
      keyspacesPerWorkspace: data.MAX_KEYSPACES_PER_WORKSPACE ?? defaultQuotas.keyspacesPerWorkspace,
      issuedKeysPerWorkspace: data.MAX_ISSUED_KEYS_PER_WORKSPACE ?? defaultQuotas.issuedKeysPerWorkspace,
      invitationsPerHour: data.MAX_INVITATIONS_PER_HOUR ?? defaultQuotas.invitationsPerHour,
      keyChangesPerHour: data.MAX_KEY_CHANGES_PER_HOUR ?? defaultQuotas.keyChangesPerHour,
      issuedSecretsPerHour: data.MAX_ISSUED_SECRETS_PER_HOUR ?? defaultQuotas.issuedSecretsPerHour,
    },
    hasRequestLog: data.REQUEST_LOG === "on",
    logLevel: data.LOG_LEVEL ?? "info",
    warnings: findUnknownVariables(variables, knownVariables).map(describeUnknown),
  };
}

/** The names of all variables that Latchkey reads. */
export const knownVariables: readonly string[] = [
  ...Object.keys(schema.shape),
  ...fileVariables.map((name) => `${name}_FILE`),
];

/** @throws {EnvError} if only some of the variables that belong together are set. */
function readOpenid(data: z.output<typeof schema>): OpenidSettings | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId } = data;
  const { OIDC_CLIENT_SECRET: clientSecret, OIDC_NAME: name } = data;
  if (issuer !== undefined && clientId !== undefined)
    return { issuer, clientId, clientSecret, name: name ?? new URL(issuer).hostname };
  if ([issuer, clientId, clientSecret, name].every((value) => value === undefined)) return undefined;
  const missing = issuer === undefined ? "OIDC_ISSUER" : "OIDC_CLIENT_ID";
  throw new EnvError(`${missing} must be set too, because other variables of OpenID Connect are set.`);
}

function describeUnknown({ name, suggestion }: UnknownVariable): string {
  return suggestion
    ? `The environment variable ${name} has no effect; did you mean ${suggestion}?`
    : `The environment variable ${name} has no effect: Latchkey does not read it.`;
}

function ipRanges() {
  return z
    .string()
    .transform((text) => text.split(",").map((range) => range.trim()))
    .refine(
      (ranges) => ranges.every(isIpRange),
      "must be IP addresses or ranges such as 10.0.0.0/8, separated by commas",
    );
}

function poolSize() {
  return z
    .string()
    .regex(/^([1-9]\d?|100)$/, "must be a number from 1 to 100")
    .transform(Number);
}

/** The root directory of the repository. Relative paths are resolved against it. */
export const projectRoot = resolve(import.meta.dirname, "../../..");
