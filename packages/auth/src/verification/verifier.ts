import type { WorkspaceId } from "@latchkey/db/ids";
import { verificationLimits } from "@latchkey/limits";
import { AdmissionConnection } from "../admission/admission-connection.ts";
import { createFailureReporter } from "../admission/failure-reporter.ts";
import type { AdmissionOptions } from "../admission/options.ts";
import { Scheduler } from "../admission/scheduler.ts";
import { verificationTimeouts } from "../admission/timeouts.ts";
import { apiKeyLength, digestKey, isWellFormedApiKey } from "../key-format.ts";
import { chooseBatch } from "./choose-batch.ts";
import { KeyDirectory } from "./key-directory.ts";
import type { PendingVerification } from "./pending-verification.ts";
import type { Verification, VerificationOutcome, VerificationRequest } from "./verification.ts";
import { VerificationExecutor } from "./verification-executor.ts";
import { recognized, type VerifierAnswer, withoutOutcome } from "./verifier-answer.ts";

export interface VerifierOptions extends AdmissionOptions {
  /** The most verifications with a new `Idempotency-Key` that an API key can request per hour. */
  readonly maxNamedPerHour?: number;
}

/** The most pending requests. */
const defaultMaxPending = 2_000;
/**
 * The most pending verifications of one user, so that their requests don't fill the memory. It is enough for 256 connections with
 * 100 each, and for the requests of as many connections that were closed before their responses.
 */
const maxPendingOfCaller = 60_000;

/**
 * Admits requests that verify issued keys. The use of the caller's key and the costs of the verified keys are counted in one
 * transaction, which locks the counters, decides all requests of a batch in order, and writes the counters back. Requests without
 * meters are decided before, and counted by one statement (docs/decisions/0069).
 *
 * It has a queue and a connection of its own: other statements on the connection would become part of its transactions
 * (docs/decisions/0058). A second batch is sent behind one that is only counted (docs/decisions/0075).
 */
export class Verifier {
  readonly #connection: AdmissionConnection;
  readonly #keys: KeyDirectory<PendingVerification>;
  readonly #scheduler: Scheduler<PendingVerification>;

  constructor({ maxNamedPerHour = verificationLimits.maxIdempotentPerHour, ...options }: VerifierOptions) {
    const timeouts = { ...verificationTimeouts, ...options };
    const reportFailure = createFailureReporter(options.onFailure);
    const maxPending = options.maxWaiting ?? defaultMaxPending;
    this.#keys = new KeyDirectory(options.maxCachedFacts ?? 200_000);
    // A database that lost its latest changes reuses their versions, so that facts from before would seem current.
    this.#connection = new AdmissionConnection(options.connection, {
      applicationName: "latchkey verification",
      timeouts,
      onOpen: () => this.#keys.invalidate(),
    });
    this.#scheduler = new Scheduler<PendingVerification>(
      {
        prepare: () => (this.#connection.isConnected ? undefined : this.#connection.connect()),
        execute: (requests) => executor.execute(requests),
        choose: (requests) => chooseBatch(requests.filter(({ isAnswered }) => !isAnswered)),
        mayFollow: () => executor.mayFollow,
        reject: (request) => request.answer(withoutOutcome.unavailable),
        report: (error) => reportFailure(error, false),
        cancelIfSilentFor: (milliseconds) => this.#connection.dropIfSilentFor(milliseconds),
      },
      {
        deadlineMs: timeouts.deadlineMs,
        maxPending,
        maxSizePerCaller: maxPendingOfCaller,
        maxInFlight: 2,
        // Each batch is chosen from all pending requests.
        maxBatch: maxPending,
      },
    );
    const executor = new VerificationExecutor({
      connection: this.#connection,
      scheduler: this.#scheduler,
      keys: this.#keys,
      maxNamedPerHour,
    });
  }

  /**
   * Looks up whether the database knows the key of a token, without counting a use. Returns undefined if it does, and otherwise the
   * answer to the request: that the key is malformed or unknown, or that the database is unavailable. Callers read the body of a
   * request only after undefined, and give any other answer without admission, so that a forged key costs one lookup. Returns no
   * promise for a key that is remembered, or that is malformed.
   */
  recognize(token: string): VerifierAnswer | undefined | Promise<VerifierAnswer | undefined> {
    const digest = this.#digestPossibleKey(token);
    if (digest === undefined) return withoutOutcome.malformed;
    if (this.#keys.hasApiKey(digest)) return undefined;
    const lookup = { address: undefined, verifications: [], name: undefined };
    return this.#enqueue({ ...lookup, ...this.#identify(digest), isLookupOnly: true }).then((answer) =>
      answer === recognized ? undefined : answer,
    );
  }

  /**
   * Admits a request with this token, and verifies keys for it. A rejected or rate limited caller spends nothing. The token
   * may be any string that a caller sent.
   * @param arrivedAt when the deadline of the request starts, by `performance.now()`.
   */
  verify(token: string, request: VerificationRequest, arrivedAt?: number): Promise<VerifierAnswer> {
    const digest = this.#digestPossibleKey(token);
    if (digest === undefined) return Promise.resolve(withoutOutcome.malformed);
    return this.#enqueue({ ...request, ...this.#identify(digest), isLookupOnly: false }, arrivedAt);
  }

  /**
   * Verifies a key for a caller without an API key, in one workspace. Call it only for the operator, or after a check that was
   * made when the request had arrived: the member may verify keys in the workspace.
   * @param callerId the ID of the member, or another name.
   * @returns undefined if the database is unavailable, or too many verifications are pending.
   */
  async verifyWithoutKey(
    callerId: string,
    verification: Verification & { readonly workspaceId: WorkspaceId },
  ): Promise<VerificationOutcome | undefined> {
    const request = { address: undefined, verifications: [verification], name: undefined };
    const { outcome } = await this.#enqueue({ ...request, digest: undefined, callerId, isLookupOnly: false });
    return outcome;
  }

  #identify(digest: string): Pick<PendingVerification, "digest" | "callerId"> {
    return { digest, callerId: this.#keys.ownerOf(digest) ?? digest };
  }

  /** The digest of a token that can be a key. Only well-formed keys are remembered. */
  #digestPossibleKey(token: string): string | undefined {
    if (token.length !== apiKeyLength) return undefined;
    const digest = digestKey(token);
    return this.#keys.hasApiKey(digest) || isWellFormedApiKey(token) ? digest : undefined;
  }

  #enqueue(
    request: VerificationRequest & Pick<PendingVerification, "digest" | "callerId" | "isLookupOnly">,
    arrivedAt = performance.now(),
  ): Promise<VerifierAnswer> {
    // Requests with an unknown key, the caller's or one to verify, occupy at most half of the queue, so that forged keys can't
    // crowd out known ones.
    const lookupCount = this.#keys.countLookups(request);
    const isKnown = lookupCount === 0;
    const size = request.verifications.length;
    if (!this.#scheduler.hasRoom(request.callerId, size, isKnown))
      return Promise.resolve(withoutOutcome.unavailable);
    return new Promise((answer) => {
      this.#scheduler.add({
        ...request,
        answer,
        mayFillQueue: isKnown,
        size,
        callerTotal: undefined,
        lookupCount,
        arrivedAt,
        wasPostponed: false,
        wasOutdated: false,
        isAnswered: false,
      });
    });
  }

  /**
   * Whether its connection is open, or can be opened now. Runs no lookup: a lock on a table that only verifications read would
   * otherwise make all nodes not ready, although they admit other requests.
   */
  async isAvailable(): Promise<boolean> {
    if (this.#scheduler.isClosed) return false;
    try {
      await this.#connection.connect();
      return true;
    } catch {
      return false;
    }
  }

  /** Finishes the batch in flight, answers "unavailable" to queued requests, and closes the connection. */
  async close(): Promise<void> {
    await this.#scheduler.close();
    await this.#connection.close();
  }
}
