import type { PasskeyCredential } from "@latchkey/db/passkeys";
import {
  type AuthenticationResponseJSON,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from "@simplewebauthn/server";
import type { RelyingParty } from "./relying-party.ts";

/** Without extensions, none of which is used. */
export type RegistrationOptions = Omit<PublicKeyCredentialCreationOptionsJSON, "extensions">;
export type AuthenticationOptions = Omit<PublicKeyCredentialRequestOptionsJSON, "extensions">;
export type RegistrationResponse = RegistrationResponseJSON;
export type AuthenticationResponse = AuthenticationResponseJSON;

/** A credential by what a browser needs to find it. */
type CredentialDescription = Pick<PasskeyCredential, "credentialId" | "transports">;

/** How long a browser waits for the user, in milliseconds. */
const timeoutMs = 300_000;

/** Checks the challenge that a response answers, and uses it up. */
export type ConsumeChallenge = (challenge: string) => Promise<boolean>;

/**
 * Creates what a browser needs to create a passkey: one that it can list without a user name, and that verifies the user
 * by a PIN or biometrics, so that it is two factors in one.
 * @param user.handle identifies the user to the authenticator; without personal data.
 */
export async function createRegistrationOptions(
  relyingParty: RelyingParty,
  user: { readonly handle: Buffer; readonly email: string; readonly name: string },
  {
    challenge,
    existing,
  }: { readonly challenge: Buffer; readonly existing: readonly CredentialDescription[] },
): Promise<RegistrationOptions> {
  const { extensions: _unused, ...options } = await generateRegistrationOptions({
    rpName: "Latchkey",
    rpID: relyingParty.id,
    userID: new Uint8Array(user.handle),
    userName: user.email,
    userDisplayName: user.name,
    challenge: new Uint8Array(challenge),
    timeout: timeoutMs,
    // No attestation is requested, because any authenticator is accepted.
    attestationType: "none",
    excludeCredentials: existing.map(describe),
    authenticatorSelection: { residentKey: "required", userVerification: "required" },
  });
  return options;
}

/** Returns the credential of a new passkey; undefined if the response isn't valid or the user wasn't verified. */
export async function verifyRegistration(
  relyingParty: RelyingParty,
  response: RegistrationResponse,
  consumeChallenge: ConsumeChallenge,
): Promise<PasskeyCredential | undefined> {
  const challengeUse = captureFailure(consumeChallenge);
  const result = await verifyRegistrationResponse({
    response,
    expectedChallenge: challengeUse.consume,
    expectedOrigin: relyingParty.origin,
    expectedRPID: relyingParty.id,
    requireUserVerification: true,
  }).catch(() => undefined);
  challengeUse.rethrow();
  if (!result?.verified || isFramed(response.response)) return undefined;
  const { id, publicKey, counter } = result.registrationInfo.credential;
  const { transports = [] } = response.response;
  return { credentialId: id, publicKey: Buffer.from(publicKey), signCount: counter, transports };
}

/**
 * Creates what a browser needs to use a passkey.
 * @param allowed the credentials to choose from; any passkey for this host without them.
 */
export async function createAuthenticationOptions(
  relyingParty: RelyingParty,
  { challenge, allowed }: { readonly challenge: Buffer; readonly allowed: readonly CredentialDescription[] },
): Promise<AuthenticationOptions> {
  const { extensions: _unused, ...options } = await generateAuthenticationOptions({
    rpID: relyingParty.id,
    challenge: new Uint8Array(challenge),
    timeout: timeoutMs,
    allowCredentials: allowed.map(describe),
    userVerification: "required",
  });
  return options;
}

/**
 * Returns the authenticator's new count of signatures; undefined if the response isn't valid or the user wasn't verified.
 */
export async function verifyAuthentication(
  relyingParty: RelyingParty,
  {
    response,
    credential,
  }: { readonly response: AuthenticationResponse; readonly credential: PasskeyCredential },
  consumeChallenge: ConsumeChallenge,
): Promise<number | undefined> {
  const challengeUse = captureFailure(consumeChallenge);
  const { credentialId, publicKey, signCount, transports } = credential;
  const result = await verifyAuthenticationResponse({
    response,
    expectedChallenge: challengeUse.consume,
    expectedOrigin: relyingParty.origin,
    expectedRPID: relyingParty.id,
    requireUserVerification: true,
    credential: {
      id: credentialId,
      publicKey: new Uint8Array(publicKey),
      counter: signCount,
      transports: [...transports],
    },
  }).catch(() => undefined);
  challengeUse.rethrow();
  return result?.verified && !isFramed(response.response) ? result.authenticationInfo.newCounter : undefined;
}

/**
 * Whether the response was created in a frame of a page of another origin, where the app is never shown. The library checks only
 * part of this, and only in authentications.
 * @param verified whose client data is valid JSON.
 * @see https://www.w3.org/TR/webauthn-3/#sctn-validating-origin
 */
function isFramed(verified: { readonly clientDataJSON: string }): boolean {
  const data: unknown = JSON.parse(Buffer.from(verified.clientDataJSON, "base64url").toString());
  const { crossOrigin, topOrigin } = data as { crossOrigin?: unknown; topOrigin?: unknown }; // An object: verified.
  return crossOrigin === true || topOrigin !== undefined;
}

function describe({ credentialId, transports }: CredentialDescription) {
  return { id: credentialId, transports: [...transports] };
}

/** Keeps an error of the database apart from those that the library throws for a response that isn't valid. */
function captureFailure(consumeChallenge: ConsumeChallenge) {
  let failure: { readonly error: unknown } | undefined;
  return {
    consume: async (challenge: string): Promise<boolean> => {
      try {
        return await consumeChallenge(challenge);
      } catch (error) {
        failure = { error };
        return false;
      }
    },
    rethrow: (): void => {
      if (failure) throw failure.error;
    },
  };
}
