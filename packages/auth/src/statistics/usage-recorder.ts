import type { Presented, Verdict } from "../admission/verdict.ts";
import type { Verification, VerificationResult } from "../verification/verification.ts";
import { HistoryPruner, type HistoryPrunerOptions } from "./history-pruner.ts";
import { type RecordedRequest, RequestStatistics } from "./request-statistics.ts";
import { type StatisticsOptions, StatisticsWriter } from "./statistics-writer.ts";
import { VerificationStatistics } from "./verification-statistics.ts";

export interface UsageRecorderOptions extends StatisticsOptions, HistoryPrunerOptions {
  /** Called with each failure to write or prune. */
  readonly onFailure?: (error: unknown) => void;
}

/**
 * Records the history of keys, and deletes old history (see {@link HistoryPruner}). These are statistics, which are written shortly
 * afterwards: see {@link StatisticsWriter} for what can be lost, and {@link RequestStatistics} and {@link VerificationStatistics}
 * for what is recorded.
 */
export class UsageRecorder {
  readonly #requests: RequestStatistics;
  readonly #verifications: VerificationStatistics;
  readonly #writer: StatisticsWriter;
  readonly #pruner: HistoryPruner;

  constructor(options: UsageRecorderOptions) {
    const readClockMs = () => options.clock.nowMs();
    this.#requests = new RequestStatistics(readClockMs);
    this.#verifications = new VerificationStatistics(readClockMs);
    this.#writer = new StatisticsWriter(options, [this.#requests, this.#verifications]);
    this.#pruner = new HistoryPruner(options);
  }

  /** Records the verdict of a request with an API key. */
  record(verdict: Verdict, request: RecordedRequest): void {
    this.#requests.record(verdict, request);
  }

  /** Records the use of an API key. */
  recordUse(presented: Presented, request: Pick<RecordedRequest, "workspaceId" | "address">): void {
    this.#requests.recordUse(presented, request);
  }

  /** Records the verifications of issued keys by one request, with their results in the same order. */
  recordVerifications(
    verifications: readonly Pick<Verification, "tags" | "clientAddress">[],
    results: readonly VerificationResult[],
    requestId: string,
  ): void {
    for (const [index, result] of results.entries()) {
      const verification = verifications[index];
      if (verification) this.#verifications.record(verification, result, requestId);
    }
  }

  /** Performs one write; never throws. */
  async flush(): Promise<void> {
    await this.#writer.flush();
  }

  /** Deletes old history now, as on the timer; never throws. */
  async prune(): Promise<void> {
    await this.#pruner.run();
  }

  /** Writes everything that waits, for `lastFlushMs` at most, and closes the connections. */
  async close(): Promise<void> {
    await Promise.all([this.#writer.close(), this.#pruner.close()]);
  }
}
