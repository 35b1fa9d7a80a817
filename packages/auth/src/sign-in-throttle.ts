import { createHmac } from "node:crypto";
import type { UserId } from "@latchkey/db/ids";
import type { Db, Trx } from "@latchkey/db/schema";
import { findKnownOrigins, rememberOrigins, replaceOrigins } from "@latchkey/db/sign-in-origins";
import {
  type BucketUse,
  consumeFromBuckets,
  returnTokens,
  tryConsumeFromBucket,
} from "@latchkey/db/throttle-buckets";
import { AppError } from "@latchkey/errors";
import { networkOf } from "./client-network.ts";
import type { PasswordSource } from "./password-queue.ts";

export interface SignInThrottleOptions {
  readonly db: Db;
  /** Keys the digests that are stored in place of email addresses, networks and devices. */
  readonly secret: string;
  /** Sign-ups per network and hour. */
  readonly maxSignUpsPerHour: number;
}

/** Where an attempt comes from. */
export interface AttemptOrigin {
  /** The client's IP address; null if it is unknown. */
  readonly address: string | null;
  /** From the device cookie. */
  readonly deviceId: string | undefined;
}

type AttemptKind = "sign-in" | "code" | "sign-up" | "email";

/** An attempt that may be made. */
export interface Attempt {
  /** For the password queue. */
  readonly source: PasswordSource;
  /** Refunds the attempt, because it succeeded or no password was checked. */
  refund(): Promise<void>;
}

/**
 * Limits of failed attempts: a burst of `capacity`, and then one per `refillSeconds`. See decision 22 for the reasons.
 */
const limits = {
  /** With one email address, from one network or one known device. */
  origin: { capacity: 10, refillSeconds: 90 },
  /** From one network, with any email addresses. */
  network: { capacity: 50, refillSeconds: 18 },
  /** With one email address, from all networks and devices that its account was never signed in from. */
  account: { capacity: 50, refillSeconds: 72 },
  /**
   * Codes of one account, from all networks and devices that it was never signed in from. Fewer than for passwords,
   * because three of a million codes are correct at any time.
   */
  codeAccount: { capacity: 20, refillSeconds: 900 },
  /**
   * Challenges for passkeys, and responses to them, before it is known who signs in. They aren't guesses, so this only bounds their
   * number.
   */
  challenge: { capacity: 60, refillSeconds: 5 },
  /** Links that are emailed to one address for one {@link LinkPurpose}. */
  linkAddress: { capacity: 5, refillSeconds: 900 },
  /** Links that are emailed at the request of one network. */
  linkNetwork: { capacity: 20, refillSeconds: 180 },
} as const;

/** What a link does that is emailed on request. */
type LinkPurpose = "reset-password" | "verify-email" | "change-email";

/**
 * Limits sign-ins per account and network, and sign-ups per network, over all nodes. A correct password doesn't count, unless the
 * user has reached the quota of sign-ins. Whether an email address has an account makes no difference to any limit.
 *
 * An attacker can't prevent a user from signing in with a password on a known device, which has its own limit. An attacker
 * outside a known network can't prevent a sign-in from that network either. Passkeys and OpenID are limited per network only,
 * because it isn't known yet who signs in. See docs/decisions/0022.
 */
export class SignInThrottle {
  readonly #db: Db;
  readonly #key: Buffer;
  readonly #maxSignUpsPerHour: number;

  constructor({ db, secret, maxSignUpsPerHour }: SignInThrottleOptions) {
    this.#db = db;
    // A separate key, so that no digest equals a signature that is made with the secret for another purpose.
    this.#key = createHmac("sha256", secret).update("latchkey sign-in throttle").digest();
    this.#maxSignUpsPerHour = maxSignUpsPerHour;
  }

  /**
   * Consumes one attempt to sign in.
   * @param email in lower case.
   * @throws {AppError} TOO_MANY_REQUESTS with `Retry-After`.
   */
  async consumeSignIn(email: string, origin: AttemptOrigin): Promise<Attempt> {
    return await this.#consumeForAccount(email, origin, {
      prefix: [],
      account: limits.account,
      what: "sign-in",
    });
  }

  /**
   * Consumes one attempt to enter a code of a second factor. Codes have buckets of their own, so that wrong passwords don't
   * prevent a user from entering a code.
   * @param email in lower case.
   * @throws {AppError} TOO_MANY_REQUESTS with `Retry-After`.
   */
  async consumeCode(email: string, origin: AttemptOrigin): Promise<Attempt> {
    return await this.#consumeForAccount(email, origin, {
      prefix: ["code"],
      account: limits.codeAccount,
      what: "code",
    });
  }

  async #consumeForAccount(
    email: string,
    origin: AttemptOrigin,
    kind: {
      /** Distinguishes the buckets of this kind of attempt. */
      readonly prefix: readonly string[];
      readonly account: Pick<BucketUse, "capacity" | "refillSeconds">;
      readonly what: AttemptKind;
    },
  ): Promise<Attempt> {
    const network = networkOf(origin.address);
    const networkParts = ["origin", email, "network", network];
    const byNetwork = this.#digest(...networkParts);
    const deviceParts = origin.deviceId && ["origin", email, "device", origin.deviceId];
    const byDevice = deviceParts && this.#digest(...deviceParts);
    const known = await findKnownOrigins(this.#db, byDevice ? [byDevice, byNetwork] : [byNetwork]);
    const isKnown = (digest: Buffer) => known.has(digest.toString("hex"));
    const bucket = (...parts: readonly string[]) => this.#digest(...kind.prefix, ...parts);

    const uses: BucketUse[] = [];
    let knownOrigin: string | undefined;
    if (byDevice && isKnown(byDevice)) {
      knownOrigin = `device of ${email}`;
      uses.push({ digest: bucket(...deviceParts), ...limits.origin });
    } else {
      uses.push({ digest: bucket(...networkParts), ...limits.origin });
      uses.push({ digest: bucket("network", network), ...limits.network });
      if (isKnown(byNetwork)) knownOrigin = `network of ${email}`;
      else uses.push({ digest: bucket("account", email), ...kind.account });
    }
    await this.#consume(uses, kind.what);
    return {
      source: { network, knownOrigin },
      refund: () => returnTokens(this.#db, uses),
    };
  }

  /** Remembers the device and the network that a user has signed in from or signed up from. */
  async remember(
    { id, email }: { readonly id: UserId; readonly email: string },
    { address, deviceId }: { readonly address: string | null; readonly deviceId: string },
  ): Promise<void> {
    const identities = identifyOrigin({ address, deviceId });
    const digests = identities.map((parts) => this.#digest("origin", email, ...parts));
    await rememberOrigins(this.#db, id, digests);
  }

  /**
   * Keeps only the device and the network of a request known when the email address of its user changes, if they were known. All
   * others of the user become unknown. The user must be locked.
   */
  async keepKnown(
    trx: Trx,
    { id, formerEmail, email }: { readonly id: UserId; readonly formerEmail: string; readonly email: string },
    origin: AttemptOrigin,
  ): Promise<void> {
    const digests = identifyOrigin(origin).map((parts) => ({
      former: this.#digest("origin", formerEmail, ...parts),
      next: this.#digest("origin", email, ...parts),
    }));
    await replaceOrigins(trx, id, digests);
  }

  /**
   * Consumes one sign-up.
   * @throws {AppError} TOO_MANY_REQUESTS with `Retry-After`.
   */
  async consumeSignUp({ address }: Pick<AttemptOrigin, "address">): Promise<Attempt> {
    const network = networkOf(address);
    const capacity = this.#maxSignUpsPerHour;
    const digest = this.#digest("sign-up", network);
    const uses = [{ digest, capacity, refillSeconds: 3_600 / capacity }];
    await this.#consume(uses, "sign-up");
    return {
      source: { network, knownOrigin: undefined },
      refund: () => returnTokens(this.#db, uses),
    };
  }

  /**
   * Consumes one challenge for a passkey.
   * @throws {AppError} TOO_MANY_REQUESTS after too many from this network.
   */
  async consumeChallenge(address: string | null): Promise<void> {
    const digest = this.#digest("challenge network", networkOf(address));
    await this.#consume([{ digest, ...limits.challenge }], "sign-in");
  }

  /**
   * Consumes one sign-in with a passkey. Otherwise, invented responses, which need no challenge, could be sent and logged without
   * limit. It has a bucket of its own, so that it can't use up the challenges for sign-ins.
   * @throws {AppError} TOO_MANY_REQUESTS after too many from this network.
   */
  async consumePasskey(address: string | null): Promise<void> {
    const digest = this.#digest("passkey network", networkOf(address));
    await this.#consume([{ digest, ...limits.challenge }], "sign-in");
  }

  /**
   * Consumes one request of a signed-in user for a link by email. Email addresses are counted separately for each purpose. Otherwise, a
   * person who enters someone else's address at sign-up or as a new address would use up the links that reset that account's password.
   * @throws {AppError} TOO_MANY_REQUESTS after too many requests from this network, or with this email address for this purpose.
   */
  async consumeLinkRequest(
    purpose: Exclude<LinkPurpose, "reset-password">,
    email: string,
    address: string | null,
  ): Promise<void> {
    await this.#consume([this.#linkNetwork(address), this.#linkAddress(purpose, email)], "email");
  }

  /**
   * Consumes one request for a password reset link.
   * @returns false after too many requests with this email address. The caller must not learn it, because anyone can request such a
   *   link.
   * @throws {AppError} TOO_MANY_REQUESTS after too many requests from this network.
   */
  async consumeResetRequest(email: string, address: string | null): Promise<boolean> {
    await this.#consume([this.#linkNetwork(address)], "email");
    return (await consumeFromBuckets(this.#db, [this.#linkAddress("reset-password", email)])) <= 0;
  }

  /**
   * Consumes the verification link of a new account, whose sign-up was counted for the network.
   * @param trx the transaction that creates the account, so that a rejected sign-up consumes nothing.
   * @returns false after too many verification links to this email address.
   */
  async consumeSignUpLink(trx: Trx, email: string): Promise<boolean> {
    return await tryConsumeFromBucket(trx, this.#linkAddress("verify-email", email));
  }

  #linkNetwork(address: string | null): BucketUse {
    return { digest: this.#digest("link network", networkOf(address)), ...limits.linkNetwork };
  }

  #linkAddress(purpose: LinkPurpose, email: string): BucketUse {
    return { digest: this.#digest("link address", purpose, email), ...limits.linkAddress };
  }

  async #consume(uses: readonly BucketUse[], what: AttemptKind): Promise<void> {
    const waitSeconds = Math.ceil(await consumeFromBuckets(this.#db, uses));
    if (waitSeconds <= 0) return;
    throw new AppError("TOO_MANY_REQUESTS", {
      message: `Too many ${what} attempts. Try again in ${describe(waitSeconds)}.`,
      retryAfterSeconds: waitSeconds,
    });
  }

  #digest(...parts: readonly string[]): Buffer {
    return createHmac("sha256", this.#key).update(JSON.stringify(parts)).digest();
  }
}

function describe(seconds: number): string {
  if (seconds === 1) return "1 second";
  return seconds < 120 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
}

/** What identifies the device and the network of a request, without those that the request doesn't reveal. */
function identifyOrigin({ address, deviceId }: AttemptOrigin): readonly (readonly string[])[] {
  const device = deviceId === undefined ? [] : [["device", deviceId]];
  // An unknown address can't identify a known network.
  const network = address === null ? [] : [["network", networkOf(address)]];
  return [...device, ...network];
}
