import { write, writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

export interface LogDestinationOptions {
  /** The file descriptor to write to; standard output by default. */
  readonly fd?: number;
  /** Whether lines are written in batches, asynchronously, instead of each line immediately. */
  readonly isBatched: boolean;
  /** The maximum size of the pending lines, in bytes; 8 MiB by default. Further lines are dropped. */
  readonly maxPendingBytes?: number;
  /** How long `close` and the end of the process wait for a reader, in milliseconds; 1,000 by default. */
  readonly closeMs?: number;
}

/** How long a line may wait for a batch to fill, in milliseconds. */
const batchMs = 500;
/** A batch is written when the pending lines have this size, in bytes. */
const batchBytes = 4_096;
/** No further line is added to a write of this many characters. */
const maxWriteLength = 64 * 1024;
/** The pause after a write that failed, in milliseconds: the reader is slow, or the disk is full. */
const retryMs = 50;
const reportDropsEveryMs = 1_000;
const closePollMs = 10;

/**
 * Writes the lines of a log. Neither a stalled reader nor a full disk delays the node: lines that can't be written stay
 * pending, and further lines are dropped when too much is pending. The wait at the end of the process is limited, too.
 */
export class LogDestination {
  readonly #fd: number;
  readonly #isBatched: boolean;
  readonly #maxPendingBytes: number;
  readonly #closeMs: number;
  /** Lines that aren't part of a write yet. */
  #lines: string[] = [];
  #pendingBytes = 0;
  /**
   * The rest of the lines of the current write. After a failure, the write continues with this rest, so no line is
   * cut off.
   */
  #chunk: Buffer = Buffer.alloc(0);
  #isWriting = false;
  /** Whether the last write failed. */
  #isFailing = false;
  /** When the wait for the reader ends, by `performance.now()`; undefined before closing. */
  #closeBy: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #dropped = 0;
  #reportTimer: NodeJS.Timeout | undefined;
  /** Writes a line that says how many lines were dropped. */
  #report: (count: number) => void = () => undefined;
  readonly #atExit = (): void => this.#flushSync();

  constructor({
    fd = 1,
    isBatched,
    maxPendingBytes = 8 * 1024 * 1024,
    closeMs = 1_000,
  }: LogDestinationOptions) {
    this.#fd = fd;
    this.#isBatched = isBatched;
    this.#maxPendingBytes = maxPendingBytes;
    this.#closeMs = closeMs;
    // Node makes a pipe or socket non-blocking when its stream is created. A blocking write would wait for the
    // reader.
    if (fd === 1) void process.stdout;
    process.once("exit", this.#atExit);
  }

  /** @param report called at most once per second while lines are dropped, and at the end; it may call `write`. */
  onDrop(report: (count: number) => void): void {
    this.#report = report;
  }

  /** Never throws and never waits. */
  write(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#pendingBytes + bytes > this.#maxPendingBytes && this.#closeBy === undefined) {
      this.#dropped += 1;
      this.#scheduleReport();
      return;
    }
    this.#lines.push(line);
    this.#pendingBytes += bytes;
    // After a failure, the timer writes, so that a failing write isn't tried for every line.
    if (this.#isFailing) return;
    if (this.#isBatched && this.#pendingBytes < batchBytes) this.#schedule(batchMs);
    else this.#writeNext();
  }

  /** Writes pending lines until the deadline. Lines that are added later are written at the exit of the process. */
  async close(): Promise<void> {
    const deadline = this.#beginClosing();
    while (this.#pendingBytes > 0 && performance.now() < deadline) {
      this.#writeNext();
      await delay(closePollMs);
    }
  }

  #schedule(milliseconds: number): void {
    this.#timer ??= setTimeout(() => this.#writeNext(), milliseconds).unref();
  }

  #writeNext(): void {
    if (this.#isWriting) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (!this.#fillChunk()) return;
    if (this.#isBatched) {
      this.#isWriting = true;
      write(this.#fd, this.#chunk, (error, written) => {
        this.#isWriting = false;
        this.#isFailing = error !== null;
        if (error) this.#schedule(retryMs);
        else this.#consume(written);
        if (!error && this.#pendingBytes >= batchBytes) this.#writeNext();
        else if (this.#pendingBytes > 0) this.#schedule(batchMs);
      });
      return;
    }
    this.#isFailing = !this.#writeSync();
    if (this.#pendingBytes > 0) this.#schedule(this.#isFailing ? retryMs : 0);
  }

  #beginClosing(): number {
    this.#closeBy ??= performance.now() + this.#closeMs;
    this.#reportDrops();
    return this.#closeBy;
  }

  /** Whether there is something to write. */
  #fillChunk(): boolean {
    if (this.#chunk.length > 0) return true;
    let length = 0;
    let count = 0;
    for (const line of this.#lines) {
      if (length >= maxWriteLength) break;
      length += line.length;
      count += 1;
    }
    const lines = count === this.#lines.length ? this.#lines : this.#lines.slice(0, count);
    this.#lines = count === this.#lines.length ? [] : this.#lines.slice(count);
    this.#chunk = Buffer.from(lines.join(""));
    return this.#chunk.length > 0;
  }

  #consume(bytes: number): void {
    this.#chunk = this.#chunk.subarray(bytes);
    this.#pendingBytes -= bytes;
  }

  /** Whether anything was written. */
  #writeSync(): boolean {
    try {
      this.#consume(writeSync(this.#fd, this.#chunk));
      return true;
    } catch {
      return false;
    }
  }

  #scheduleReport(): void {
    this.#reportTimer ??= setTimeout(() => {
      this.#reportTimer = undefined;
      this.#reportDrops();
    }, reportDropsEveryMs).unref();
  }

  #reportDrops(): void {
    const count = this.#dropped;
    if (count === 0) return;
    this.#dropped = 0;
    this.#report(count);
    // If the report itself was dropped, the next report must not count it.
    if (this.#dropped > 0) this.#dropped = count;
  }

  /**
   * Runs at the exit, when timers no longer fire. An asynchronous write in progress completes before the process
   * ends.
   */
  #flushSync(): void {
    const deadline = this.#beginClosing();
    if (this.#isWriting) this.#chunk = Buffer.alloc(0);
    const pause = new Int32Array(new SharedArrayBuffer(4));
    while (this.#fillChunk()) {
      if (this.#writeSync()) continue;
      if (performance.now() >= deadline) break;
      Atomics.wait(pause, 0, 0, closePollMs);
    }
    if (this.#chunk.length > 0) process.stderr.write("The last log lines could not be written.\n");
  }
}
