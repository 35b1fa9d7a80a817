import { createHmac } from "node:crypto";
import { deriveKey } from "@latchkey/auth/sealed-secrets";
import { AppError } from "@latchkey/errors";
import * as client from "openid-client";

/** How the instance is registered at the provider. */
export interface OpenidRegistration {
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined;
  readonly name: string;
}

/** What the provider's redirect contains. */
export interface OpenidResponse {
  readonly code: string;
  readonly state: string;
  /** The provider that responded, if it says so (RFC 9207). */
  readonly iss?: string | undefined;
}

/** What the provider says about the person who signed in there. */
export interface OpenidClaims {
  readonly issuer: string;
  /** 1 to 255 printable ASCII characters. */
  readonly subject: string;
  /** As the provider wrote it, of any length and content; undefined if it shares none. */
  readonly email: string | undefined;
  readonly isEmailVerified: boolean;
  readonly name: string | undefined;
  /** When the person last authenticated at the provider; undefined if it doesn't say. */
  readonly authenticatedAt: Date | undefined;
}

export interface OpenidProvider {
  readonly name: string;
  readonly issuer: string;
  /**
   * The URL of the provider's sign-in page for the browser whose cookie has this token.
   * @param options.forcesReauthentication whether the provider must authenticate the person again.
   * @throws {OpenidError} if the provider can't be reached.
   */
  readonly createUrl: (
    token: string,
    options: { readonly forcesReauthentication: boolean },
  ) => Promise<string>;
  /** @throws {OpenidError} if the response isn't valid for this token, or the provider can't be reached. */
  readonly readClaims: (
    token: string,
    response: OpenidResponse,
    options: { readonly forcesReauthentication: boolean },
  ) => Promise<OpenidClaims>;
}

/** The provider can't be used, or its response isn't valid. The message is for the log. */
export class OpenidError extends Error {
  override readonly name = "OpenidError";
}

/** How long a request to the provider may take, in seconds. */
const timeoutSeconds = 5;

/** How far the clocks of the provider and this node may differ, in seconds. */
export const clockToleranceSeconds = 30;

/** The `max_age` of a request for a new authentication, in seconds. */
const recentAuthenticationSeconds = 60;

/** How long the provider's configuration is used before it is read again, in milliseconds. */
const configurationLifetimeMs = 3_600_000;

/**
 * Creates the client of an OpenID provider: the code flow with PKCE, state and nonce. The provider's configuration is read
 * when it is first needed, so that a node starts without the provider, and after a failure it is read again.
 *
 * State, nonce and the PKCE verifier are derived from the token in the browser's cookie, so that nobody can complete a
 * sign-in in another browser, and the database contains none of them.
 */
export function createOpenidProvider(
  { issuer, clientId, clientSecret, name }: OpenidRegistration,
  { baseUrl, secret }: { readonly baseUrl: string; readonly secret: string },
): OpenidProvider {
  const key = deriveKey(secret, "openid");
  const redirectUrl = `${baseUrl}/sign-in/openid`;
  const derive = (purpose: string, token: string) =>
    createHmac("sha256", key).update(`${purpose} ${token}`).digest("base64url");
  let configuration: { readonly value: Promise<client.Configuration>; readonly readAtMs: number } | undefined;

  async function configure(): Promise<client.Configuration> {
    if (configuration && performance.now() - configuration.readAtMs < configurationLifetimeMs)
      return await configuration.value;
    const value = discover({ issuer, clientId, clientSecret });
    const reading = { value, readAtMs: performance.now() };
    configuration = reading;
    value.catch(() => {
      if (configuration === reading) configuration = undefined;
    });
    return await value;
  }

  return {
    name,
    issuer,
    async createUrl(token, { forcesReauthentication }) {
      const parameters = {
        redirect_uri: redirectUrl,
        scope: "openid email profile",
        state: derive("state", token),
        nonce: derive("nonce", token),
        code_challenge: await client.calculatePKCECodeChallenge(derive("verifier", token)),
        code_challenge_method: "S256",
        ...(forcesReauthentication && { prompt: "login", max_age: String(recentAuthenticationSeconds) }),
      };
      const config = await explainFailure(configure());
      return client.buildAuthorizationUrl(config, parameters).href;
    },
    async readClaims(token, { code, state, iss }, { forcesReauthentication }) {
      const config = await explainFailure(configure());
      const url = new URL(redirectUrl);
      url.search = new URLSearchParams({ code, state, ...(iss !== undefined && { iss }) }).toString();
      const checks = {
        expectedState: derive("state", token),
        expectedNonce: derive("nonce", token),
        pkceCodeVerifier: derive("verifier", token),
        idTokenExpected: true,
        // The lifetime of the sign-in is less, and the caller checks the exact time.
        ...(forcesReauthentication && { maxAge: 900 }),
      };
      return await explainFailure(exchange(config, url, checks));
    },
  };
}

async function discover({
  issuer,
  clientId,
  clientSecret,
}: Omit<OpenidRegistration, "name">): Promise<client.Configuration> {
  const authentication = clientSecret === undefined ? client.None() : client.ClientSecretBasic(clientSecret);
  // Checks the signature of ID tokens, although they come directly from the provider.
  const execute = [client.enableNonRepudiationChecks];
  // `env.ts` accepts plain HTTP only at loopback addresses.
  if (issuer.startsWith("http:")) execute.push(client.allowInsecureRequests);
  const metadata = { [client.clockTolerance]: clockToleranceSeconds };
  const options = { execute, timeout: timeoutSeconds };
  return await client.discovery(new URL(issuer), clientId, metadata, authentication, options);
}

async function exchange(
  config: client.Configuration,
  url: URL,
  checks: client.AuthorizationCodeGrantChecks,
): Promise<OpenidClaims> {
  const tokens = await client.authorizationCodeGrant(config, url, checks);
  const claims = tokens.claims();
  if (!claims) throw new OpenidError("The provider sent no ID token.");
  // Providers may put the profile into the ID token, or only behind the access token.
  const hasProfile = claims.email !== undefined || config.serverMetadata().userinfo_endpoint === undefined;
  const profile = hasProfile ? claims : await client.fetchUserInfo(config, tokens.access_token, claims.sub);
  return {
    issuer: claims.iss,
    subject: readSubject(claims.sub),
    email: typeof profile.email === "string" ? profile.email : undefined,
    // Some providers can send added claims only as text.
    isEmailVerified: profile.email_verified === true || profile.email_verified === "true",
    name: typeof profile.name === "string" ? profile.name : undefined,
    authenticatedAt: readAuthTime(claims.auth_time),
  };
}

/**
 * Subjects are compared byte by byte and stored. Others than the specification allows are rejected: Postgres can't store
 * U+0000, and two lone surrogates would be stored as the same character.
 * @see https://openid.net/specs/openid-connect-core-1_0.html#IDToken
 */
function readSubject(subject: string): string {
  if (/^[\x20-\x7E]{1,255}$/.test(subject)) return subject;
  throw new OpenidError("The subject of the ID token is not 1 to 255 printable ASCII characters.");
}

function readAuthTime(seconds: number | undefined): Date | undefined {
  if (seconds === undefined) return undefined;
  const time = new Date(seconds * 1_000);
  if (Number.isNaN(time.getTime())) throw new OpenidError("The auth_time of the ID token is not a time.");
  return time;
}

/**
 * Converts every error to an {@link OpenidError}, because a malformed response of the provider is not a bug in
 * Latchkey.
 */
async function explainFailure<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (cause) {
    if (cause instanceof OpenidError) throw cause;
    const code = cause instanceof Error && "code" in cause ? ` (${String(cause.code)})` : "";
    const message = cause instanceof Error ? cause.message : "unknown error";
    throw new OpenidError(`${message}${code}`, { cause });
  }
}

/** @throws {AppError} NOT_FOUND if the instance has no provider. */
export function requireOpenid(services: { readonly openid: OpenidProvider | undefined }): OpenidProvider {
  if (services.openid) return services.openid;
  throw new AppError("NOT_FOUND", { message: "This instance has no OpenID provider to sign in with." });
}
