import {
  type ConsumerId,
  createId,
  type IssuedKeyId,
  type KeyspaceId,
  type WorkspaceId,
} from "@latchkey/db/ids";
import {
  type KeyspaceHistory,
  maxTagsPerHour,
  otherTags,
  writeKeyspaceHistory,
} from "@latchkey/db/write-keyspace-history";
import type { Verification, VerificationResult } from "../verification/verification.ts";
import { HourCounters } from "./hour-counters.ts";
import { RejectionLog, toShortWord } from "./rejection-log.ts";
import type { StatisticsBatch, StatisticsSource } from "./statistics-writer.ts";
import type { VerificationOutcome } from "./verification-outcome.ts";

interface CountedIssuedKey {
  readonly id: IssuedKeyId;
  readonly owner: WorkspaceId;
  readonly keyspaceId: KeyspaceId;
}

interface CountedKeyspace {
  readonly id: KeyspaceId;
  readonly owner: WorkspaceId;
}

/** The maximum number of counters per write. Others wait for a later write, and their counts keep growing. */
const maxCountsPerWrite = 2_000;
/** A workspace can have many keys, so one can use half of the counters, and the others have the other half. */
const bounds = { maxPending: 50_000, maxPendingPerOwner: 25_000 } as const;
/** By keyspace and outcome, so a workspace with 100 keyspaces needs less than its share. */
const surplusBounds = { maxPending: 20_000, maxPendingPerOwner: 2_000 } as const;
const tagBounds = {
  maxPending: 20_000,
  maxPendingPerOwner: 5_000,
  groups: { max: maxTagsPerHour, other: otherTags },
} as const;

/**
 * Records verifications of issued keys: hours by outcome, tags, and rejected verifications. The total and the last use of a
 * key belong to its verification and are exact.
 *
 * Memory is bounded: see {@link HourCounters} and {@link RejectionLog}. No workspace can use all of it. A verification whose
 * key's counter doesn't fit is counted only for the keyspace and the workspace.
 */
export class VerificationStatistics implements StatisticsSource {
  readonly #readClockMs: () => number;
  /** By key, consumer and outcome. */
  readonly #keys: HourCounters<CountedIssuedKey, ConsumerId | null, VerificationOutcome>;
  /** Verifications whose key's counter didn't fit, by keyspace and outcome. */
  readonly #surplus: HourCounters<CountedKeyspace, null, VerificationOutcome>;
  /** By keyspace, tag and outcome. */
  readonly #tags: HourCounters<CountedKeyspace, string, VerificationOutcome>;
  readonly #rejections = new RejectionLog<KeyspaceHistory["rejections"][number]>();

  /** @param readClockMs returns the time, in milliseconds since 1970. */
  constructor(readClockMs: () => number) {
    this.#readClockMs = readClockMs;
    const now = new Date(readClockMs());
    this.#keys = new HourCounters(now, bounds);
    this.#surplus = new HourCounters(now, surplusBounds);
    this.#tags = new HourCounters<CountedKeyspace, string, VerificationOutcome>(now, tagBounds);
  }

  get pendingCount(): number {
    return (
      this.#keys.pendingCount +
      this.#surplus.pendingCount +
      this.#tags.pendingCount +
      this.#rejections.pendingCount
    );
  }

  setTime(nowMs: number): void {
    for (const counters of [this.#keys, this.#surplus, this.#tags]) counters.setHour(new Date(nowMs));
  }

  /**
   * Records a verification with its result. Costs a few map lookups and no I/O. Does not record `NOT_FOUND`, which is about
   * no key, and API keys, whose uses are recorded as requests.
   */
  record(
    { tags, clientAddress }: Pick<Verification, "tags" | "clientAddress">,
    result: VerificationResult,
    requestId: string,
  ): void {
    if (result.code === "NOT_FOUND") return;
    const { keyId, keyspaceId, workspaceId, consumerId } = result.key;
    if (keyspaceId === null) return;
    const issuedKeyId = keyId as IssuedKeyId; // A key in a keyspace is an issued key.
    const outcome = result.code === "VALID" && !result.isUse ? "CHECKED" : result.code;
    const keyspace = { id: keyspaceId, owner: workspaceId };
    if (!this.#keys.count({ id: issuedKeyId, owner: workspaceId, keyspaceId }, consumerId, outcome))
      this.#surplus.count(keyspace, null, outcome);
    for (const tag of tags) this.#tags.count(keyspace, tag, outcome);
    if (result.code === "VALID") return;
    const occurredAt = new Date(this.#readClockMs());
    this.#rejections.add(workspaceId, {
      workspaceId,
      keyId: issuedKeyId,
      // They are listed in the order of their IDs, so those need the time of the same clock.
      id: createId("keyRejection", occurredAt),
      occurredAt,
      code: result.code,
      address: clientAddress === undefined ? null : toShortWord(clientAddress),
      requestId: toShortWord(requestId),
    });
  }

  take(): StatisticsBatch {
    const usage = this.#keys.take(maxCountsPerWrite);
    const surplus = this.#surplus.take(maxCountsPerWrite);
    const tags = this.#tags.take(maxCountsPerWrite);
    const rejections = this.#rejections.take();
    const history: KeyspaceHistory = {
      usage: [
        ...usage.map(({ subject: { id, owner, keyspaceId }, group, hour, outcome, count }) => ({
          workspaceId: owner,
          keyspaceId,
          keyId: id,
          consumerId: group,
          hour,
          outcome,
          count,
        })),
        ...surplus.map(({ subject: { id, owner }, hour, outcome, count }) => ({
          workspaceId: owner,
          keyspaceId: id,
          keyId: null,
          consumerId: null,
          hour,
          outcome,
          count,
        })),
      ],
      tags: tags.map(({ subject, group, hour, outcome, count }) => ({
        workspaceId: subject.owner,
        keyspaceId: subject.id,
        tag: group,
        hour,
        outcome,
        count,
      })),
      rejections,
    };
    return {
      write: (db) => writeKeyspaceHistory(db, history),
      isFull: Math.max(usage.length, surplus.length, tags.length) >= maxCountsPerWrite,
      settle: () => {
        this.#keys.settle(usage);
        this.#surplus.settle(surplus);
        this.#tags.settle(tags);
        this.#rejections.settle(rejections);
      },
    };
  }
}
