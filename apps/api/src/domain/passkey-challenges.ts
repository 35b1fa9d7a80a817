import { createHash, randomBytes } from "node:crypto";
import type { UserId } from "@latchkey/db/ids";
import type { Trx } from "@latchkey/db/schema";
import {
  consumeVerification,
  deleteOlderVerifications,
  insertVerification,
} from "@latchkey/db/verifications";

/** How long a challenge is valid, in seconds: as long as a browser waits for the user. */
export const challengeSeconds = 300;

/** How many challenges are stored per user and use. More than one, because the user may have several tabs and devices. */
const maxChallenges = 10;

/** What a challenge is for. A response to it is accepted for nothing else. */
export interface ChallengeContext {
  readonly use: "registration" | "confirmation" | "sign-in";
  /** What binds the challenge to the browser: the ID of the session, or the value of a cookie. */
  readonly binding: string;
}

/**
 * Creates and stores a challenge of 256 random bits.
 * @param userId who is signed in, so that only the user's newest {@link maxChallenges} are kept; null for a sign-in, which
 *   is throttled per network.
 */
export async function createChallenge(
  trx: Trx,
  context: ChallengeContext,
  userId: UserId | null,
): Promise<Buffer> {
  const challenge = randomBytes(32);
  const name = nameOf(context, challenge.toString("base64url"));
  const subject = userId === null ? context.use : `${userId} ${context.use}`;
  await insertVerification(trx, name, { subject, lifetimeSeconds: challengeSeconds });
  if (userId !== null)
    await deleteOlderVerifications(trx, { purpose: name.purpose, subject, keptCount: maxChallenges });
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
