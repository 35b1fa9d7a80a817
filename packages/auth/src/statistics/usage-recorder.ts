import type { Presented, Verdict } from "../admission/verdict.ts";
import { type RecordedRequest, RequestStatistics } from "./request-statistics.ts";
import { type StatisticsOptions, StatisticsWriter } from "./statistics-writer.ts";

/**
 * Records the history of keys. These are statistics, which are written shortly afterwards: see {@link StatisticsWriter}
 * for what can be lost, and {@link RequestStatistics} for what is recorded.
 */
export class UsageRecorder {
  readonly #requests: RequestStatistics;
  readonly #writer: StatisticsWriter;

  constructor(options: StatisticsOptions) {
    const readClockMs = () => options.clock.nowMs();
    this.#requests = new RequestStatistics(readClockMs);
    this.#writer = new StatisticsWriter(options, [this.#requests]);
  }

  /** Records the verdict of a request with an API key. */
  record(verdict: Verdict, request: RecordedRequest): void {
    this.#requests.record(verdict, request);
  }

  /** Records the use of an API key. */
  recordUse(presented: Presented, request: Pick<RecordedRequest, "workspaceId" | "address">): void {
    this.#requests.recordUse(presented, request);
  }

  /** Performs one write; never throws. */
  async flush(): Promise<void> {
    await this.#writer.flush();
  }

  /** Writes everything that waits, for two seconds at most, and closes the connection. */
  async close(): Promise<void> {
    await this.#writer.close();
  }
}
