import { write, writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

export interface LogDestinationOptions {
  /** The file descriptor to write to; standard output by default. */
  readonly fd?: number;
  /** Whether lines are written together, in the background, instead of each one immediately. */
  readonly isBatched: boolean;
  /** How much may wait, in bytes; 8 MiB by default. Further lines are dropped. */
  readonly maxWaiting?: number;
  /** How long `close` and the end of the process wait for a reader, in milliseconds; 1,000 by default. */
  readonly closeMs?: number;
}

/** How long a line may wait for more to be written with it, in milliseconds. */
const batchMs = 500;
/** A batch is written when this much waits, in bytes. */
const batchBytes = 4_096;
/** One write takes no further line when it has this many characters. */
const maxWriteLength = 64 * 1024;
/** The pause after a write that failed, in milliseconds: the reader is slow, or the disk is full. */
const retryMs = 50;
const reportDropsEveryMs = 1_000;
const closePollMs = 10;

/**
 * Writes the lines of a log. Neither a stalled reader nor a full disk delays the node: what can't be written waits, and
 * lines are dropped when too much waits. At the end of the process the wait is bounded, too.
 */
export class LogDestination {
  readonly #fd: number;
  readonly #isBatched: boolean;
  readonly #maxWaiting: number;
  readonly #closeMs: number;
  /** Lines that no write has begun with. */
  #lines: string[] = [];
  #waitingBytes = 0;
  /** What is left of the lines that a write has begun with; they are never torn by a failure. */
  #chunk: Buffer = Buffer.alloc(0);
  #isWriting = false;
  /** Whether the last write failed. */
  #isFailing = false;
  /** When waiting for the reader ends, by `performance.now()`; undefined before the end. */
  #closeBy: number | undefined;
  #timer: NodeJS.Timeout | undefined;
  #dropped = 0;
  #reportTimer: NodeJS.Timeout | undefined;
  /** Writes a line that says how many lines were dropped. */
  #report: (count: number) => void = () => undefined;
  readonly #atExit = (): void => this.#flushSync();

  constructor({ fd = 1, isBatched, maxWaiting = 8 * 1024 * 1024, closeMs = 1_000 }: LogDestinationOptions) {
    this.#fd = fd;
    this.#isBatched = isBatched;
    this.#maxWaiting = maxWaiting;
    this.#closeMs = closeMs;
    // Node makes a pipe or socket non-blocking when its stream is created. A blocking write would wait for the reader.
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
    if (this.#waitingBytes + bytes > this.#maxWaiting && this.#closeBy === undefined) {
      this.#dropped += 1;
      this.#scheduleReport();
      return;
    }
    this.#lines.push(line);
    this.#waitingBytes += bytes;
    // After a failure, the timer writes, so that a failing write isn't tried for every line.
    if (this.#isFailing) return;
    if (this.#isBatched && this.#waitingBytes < batchBytes) this.#schedule(batchMs);
    else this.#writeNext();
  }

  /** Writes what waits, as far as that is possible in time. Further lines are written by the exit. */
  async close(): Promise<void> {
    const closeBy = this.#beginClosing();
    while (this.#waitingBytes > 0 && performance.now() < closeBy) {
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
        if (!error && this.#waitingBytes >= batchBytes) this.#writeNext();
        else if (this.#waitingBytes > 0) this.#schedule(batchMs);
      });
      return;
    }
    this.#isFailing = !this.#writeSync();
    if (this.#waitingBytes > 0) this.#schedule(this.#isFailing ? retryMs : 0);
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
    this.#waitingBytes -= bytes;
  }

  /** Whether the system took something. */
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
    // If the report was dropped, it isn't one of the lines that the next report counts.
    if (this.#dropped > 0) this.#dropped = count;
  }

  /** At the exit, when no timer fires any more. A write in the background ends before the process does. */
  #flushSync(): void {
    const closeBy = this.#beginClosing();
    if (this.#isWriting) this.#chunk = Buffer.alloc(0);
    const pause = new Int32Array(new SharedArrayBuffer(4));
    while (this.#fillChunk()) {
      if (this.#writeSync()) continue;
      if (performance.now() >= closeBy) break;
      Atomics.wait(pause, 0, 0, closePollMs);
    }
    if (this.#chunk.length > 0) process.stderr.write("The end of the log could not be written.\n");
  }
}
