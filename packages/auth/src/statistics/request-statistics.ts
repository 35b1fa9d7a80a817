import { createId, type KeyId, type UserId, type WorkspaceId } from "@latchkey/db/ids";
import { type KeyHistory, writeKeyHistory } from "@latchkey/db/write-key-history";
import type { Presented, Verdict } from "../admission/verdict.ts";
import { siteOf } from "../client-network.ts";
import { HourCounters } from "./hour-counters.ts";
import { LastSeenRecorder } from "./last-seen-recorder.ts";
import type { Outcome } from "./outcome.ts";
import { RejectionLog, toShortText, toShortWord } from "./rejection-log.ts";
import type { StatisticsBatch, StatisticsSource } from "./statistics-writer.ts";

/** A request with a verdict. */
export interface RecordedRequest {
  /** The workspace that the request asked to access. */
  readonly workspaceId: WorkspaceId | undefined;
  readonly address: string | undefined;
  readonly method: string;
  readonly path: string;
  readonly requestId: string;
}

/** An API key, and the user that it belongs to. */
interface CountedKey {
  readonly id: KeyId;
  readonly owner: UserId;
}

/**
 * The maximum number of counters, and of seen values, per write. Others wait for a later write, and their counts keep
 * growing.
 */
const maxCountsPerWrite = 2_000;
const maxSeenValuesPerWrite = 1_000;
const maxRejectedSecrets = 1_000;

/**
 * Records requests with API keys: hours, last IP addresses, rejected requests, and the use of old secrets. The total and
 * the last use of a key belong to admission and are exact.
 *
 * Memory is bounded: see {@link HourCounters}, {@link LastSeenRecorder} and {@link RejectionLog}. At most 1,000 old secrets
 * that were used after their overlap wait to be marked; further marks are dropped.
 */
export class RequestStatistics implements StatisticsSource {
  readonly #readClockMs: () => number;
  readonly #counters: HourCounters<CountedKey, WorkspaceId | undefined, Outcome>;
  readonly #addresses = new LastSeenRecorder();
  /** Uses of old secrets, by digest. */
  readonly #secretUses = new LastSeenRecorder();
  readonly #rejections = new RejectionLog<KeyHistory["rejections"][number]>();
  /** The last request with each old secret whose overlap had ended, by digest. */
  readonly #rejectedSecrets = new Map<string, { readonly at: Date; readonly address: string | null }>();
  /** The time at the last tick, in milliseconds since 1970. Reading the clock takes longer than counting a request. */
  #nowMs: number;

  /** @param readClockMs returns the time, in milliseconds since 1970. */
  constructor(readClockMs: () => number) {
    this.#readClockMs = readClockMs;
    this.#nowMs = readClockMs();
    this.#counters = new HourCounters(new Date(this.#nowMs));
  }

  get pendingCount(): number {
    return (
      this.#counters.pendingCount +
      this.#addresses.pendingCount +
      this.#secretUses.pendingCount +
      this.#rejections.pendingCount +
      this.#rejectedSecrets.size
    );
  }

  setTime(nowMs: number): void {
    this.#nowMs = nowMs;
    this.#counters.setHour(new Date(nowMs));
  }

  /**
   * Records the verdict of a request. An allowed request costs a few map lookups and no I/O. Does not record requests
   * with a token that no key has, or requests without an answer from the database.
   */
  record(verdict: Verdict, request: RecordedRequest): void {
    switch (verdict.kind) {
      case "admitted":
        this.recordUse(verdict.presented, request);
        return;
      case "limited":
        this.#recordRejection(verdict.presented, verdict.kind, request);
        return;
      case "rejected":
        if (verdict.presented) this.#recordRejection(verdict.presented, verdict.reason as Outcome, request); // A key was found.
        return;
      case "unavailable":
        return;
      default:
        verdict satisfies never;
    }
  }

  /** Records the use of a key. */
  recordUse(
    { keyId, userId, formerSecret }: Presented,
    { workspaceId, address }: Pick<RecordedRequest, "workspaceId" | "address">,
  ): void {
    const key = { id: keyId, owner: userId };
    this.#counters.count(key, workspaceId, "admitted");
    if (address !== undefined) this.#addresses.record(key, address, this.#nowMs);
    if (formerSecret !== undefined) this.#secretUses.record(key, formerSecret, this.#nowMs);
  }

  #recordRejection(
    { keyId, userId, formerSecret }: Presented,
    reason: Outcome,
    request: RecordedRequest,
  ): void {
    const workspaceId = memberOutcomes.has(reason) ? request.workspaceId : undefined;
    this.#counters.count({ id: keyId, owner: userId }, workspaceId, reason);
    const at = new Date(this.#readClockMs());
    const address = request.address ?? null;
    this.#rejections.add(userId, {
      keyId,
      // Rejections are listed in the order of their IDs, so those need the time of the same clock.
      id: createId("keyRejection", at),
      occurredAt: at,
      address: address && toShortWord(address),
      method: toShortWord(request.method),
      path: toShortText(request.path),
      requestId: toShortWord(request.requestId),
      reason,
    });
    if (reason !== "rotated-out" || formerSecret === undefined) return;
    if (this.#rejectedSecrets.size < maxRejectedSecrets || this.#rejectedSecrets.has(formerSecret))
      this.#rejectedSecrets.set(formerSecret, { at, address });
  }

  take(): StatisticsBatch {
    const usage = this.#counters.take(maxCountsPerWrite);
    const addresses = this.#addresses.take(maxSeenValuesPerWrite);
    const uses = this.#secretUses.take(maxSeenValuesPerWrite);
    const rejections = this.#rejections.take();
    const rejectedSecrets = [...this.#rejectedSecrets];
    const history: KeyHistory = {
      usage: usage.map(({ subject, hour, group, outcome, count }) => ({
        keyId: subject.id,
        hour,
        workspaceId: group ?? null,
        outcome,
        count,
      })),
      addresses: addresses.map(({ keyId, text, at }) => ({
        keyId,
        address: text,
        network: siteOf(text),
        lastSeenAt: at,
      })),
      rejections,
      secrets: [
        ...uses.map(({ text, at }) => ({ ...emptyMark, digest: text, usedAt: at })),
        ...rejectedSecrets.map(([digest, { at, address }]) => ({
          ...emptyMark,
          digest,
          rejectedAt: at,
          rejectedAddress: address,
        })),
      ],
    };
    return {
      write: (db) => writeKeyHistory(db, history),
      isFull:
        usage.length >= maxCountsPerWrite || Math.max(addresses.length, uses.length) >= maxSeenValuesPerWrite,
      settle: () => {
        this.#counters.settle(usage);
        this.#addresses.settle(addresses);
        this.#secretUses.settle(uses);
        this.#rejections.settle(rejections);
        for (const [digest, mark] of rejectedSecrets)
          if (this.#rejectedSecrets.get(digest) === mark) this.#rejectedSecrets.delete(digest);
      },
    };
  }
}

const emptyMark = { usedAt: null, rejectedAt: null, rejectedAddress: null };

/**
 * Outcomes which prove that the key's user is a member of the requested workspace. Others are counted under no
 * workspace, because anyone with a key could otherwise fill the history with made-up workspaces.
 */
const memberOutcomes: ReadonlySet<Outcome> = new Set([
  "limited",
  "blocked",
  "policy",
  "no-permission",
  "permission-not-in-key",
  "workspace-disabled",
]);
