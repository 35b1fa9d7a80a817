import type { AuthenticationResponse, RegistrationResponse } from "@latchkey/auth/passkeys";
import { z } from "zod";

// What browsers send for passkeys. Unknown fields are ignored, because browsers add some with new versions of WebAuthn.

const base64url = (maxLength: number) =>
  z
    .string()
    .regex(/^[A-Za-z0-9_-]+$/)
    .max(maxLength);
/** Authenticators' IDs have at most 1,023 bytes. */
const credentialId = base64url(1_364);
/** The keys and statements of attestations are the longest part. */
const data = base64url(16_384);

/** The response of a browser that has created a passkey. */
export const registrationResponse = z
  .object({
    id: credentialId,
    rawId: credentialId,
    type: z.literal("public-key"),
    response: z.object({
      clientDataJSON: data,
      attestationObject: data,
      transports: z.array(z.string().max(32)).max(10).default([]),
    }),
  })
  .transform((response): RegistrationResponse => ({ ...response, clientExtensionResults: {} }));

/** The response of a browser that has used a passkey. */
export const authenticationResponse = z
  .object({
    id: credentialId,
    rawId: credentialId,
    type: z.literal("public-key"),
    response: z.object({
      clientDataJSON: data,
      authenticatorData: data,
      signature: data,
      userHandle: base64url(128).optional(),
    }),
  })
  .transform(
    ({ response: { userHandle, ...response }, ...rest }): AuthenticationResponse => ({
      ...rest,
      response: { ...response, ...(userHandle !== undefined && { userHandle }) },
      clientExtensionResults: {},
    }),
  );
