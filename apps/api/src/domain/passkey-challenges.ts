import { createHash, randomBytes } from "node:crypto";
import type { Trx } from "@latchkey/db/schema";
import { consumeVerification, insertVerification } from "@latchkey/db/verifications";

/** How long a challenge is valid, in seconds: as long as a browser waits for the user. */
export const challengeSeconds = 300;

/** What a challenge is for. A response to it is accepted for nothing else. */
export interface ChallengeContext {
  readonly use: "registration" | "confirmation" | "sign-in";
  /** What binds the challenge to the browser: the ID of the session, or the value of a cookie. */
  readonly binding: string;
}

/** Creates and stores a challenge of 256 random bits. */
export async function createChallenge(trx: Trx, context: ChallengeContext): Promise<Buffer> {
  const challenge = randomBytes(32);
  const name = nameOf(context, challenge.toString("base64url"));
  const options = { subject: context.use, lifetimeSeconds: challengeSeconds };
  await insertVerification(trx, name, options);
  return challenge;
}

/** Uses up a challenge. Of concurrent calls, one returns true. @param challenge in base64url */
export async function consumeChallenge(
  trx: Trx,
  context: ChallengeContext,
  challenge: string,
): Promise<boolean> {
  return await consumeVerification(trx, nameOf(context, challenge));
}

function nameOf({ use, binding }: ChallengeContext, challenge: string) {
  const digest = createHash("sha256")
    .update(JSON.stringify([use, binding, challenge]))
    .digest();
  return { purpose: "passkey", digest } as const;
}
