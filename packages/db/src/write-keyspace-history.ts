import { type RawBuilder, sql } from "kysely";
import { asTable, deleteSurplus, writeHistory } from "./history-rows.ts";
import type { ConsumerId, IssuedKeyId, KeyRejectionId, KeyspaceId, WorkspaceId } from "./ids.ts";
import { issuedKeyRejectionLimit, useOutcome } from "./keyspace-usage.ts";
import type { Db, Trx } from "./schema.ts";

/** The number of verifications of an issued key, or of other keys of a keyspace, that had one outcome in one hour. */
export interface IssuedKeyHourUsage {
  readonly workspaceId: WorkspaceId;
  readonly keyspaceId: KeyspaceId;
  /** Null for verifications that are counted only for the keyspace and the workspace. */
  readonly keyId: IssuedKeyId | null;
  /** The consumer that the key belonged to; null for none. */
  readonly consumerId: ConsumerId | null;
  /** When the hour begins, in UTC. */
  readonly hour: Date;
  readonly outcome: string;
  readonly count: number;
}

/** The number of verifications with a tag that had one outcome in one hour. */
export interface TagHourUsage {
  readonly workspaceId: WorkspaceId;
  readonly keyspaceId: KeyspaceId;
  readonly hour: Date;
  readonly tag: string;
  readonly outcome: string;
  readonly count: number;
}

/** A rejected verification of an issued key. */
export interface WrittenRejection {
  readonly workspaceId: WorkspaceId;
  readonly keyId: IssuedKeyId;
  readonly id: KeyRejectionId;
  readonly occurredAt: Date;
  readonly code: string;
  readonly address: string | null;
  readonly requestId: string;
}

/** What a node has recorded about issued keys since its last write. A row may occur more than once. */
export interface KeyspaceHistory {
  readonly usage: readonly IssuedKeyHourUsage[];
  readonly tags: readonly TagHourUsage[];
  readonly rejections: readonly WrittenRejection[];
}

/** The most tags of a keyspace that are counted by name in one hour. Others are counted together. */
export const maxTagsPerHour = 100;

/** What tags that are not counted by name are counted under. No tag has this form. */
export const otherTags = "(other)";

/**
 * Writes the history that a node recorded, all of it or nothing. The counts of keys, consumers, keyspaces, workspaces and days
 * are incremented in the same transaction, so they match, except for verifications without a key. Keyspaces and workspaces come last, because all nodes
 * increment the same rows, which stay locked until the commit.
 * @param db a connection in the admission role.
 * @throws what the driver throws, including when a row stays locked for half a second.
 */
export async function writeKeyspaceHistory(db: Db, history: KeyspaceHistory): Promise<void> {
  await writeHistory(db, async (trx) => {
    const usage = asTable(history.usage, usageColumns);
    const ofConsumers = history.usage.filter(({ consumerId }) => consumerId !== null);
    const usageOfConsumers = asTable(ofConsumers, usageColumns);
    if (history.usage.length > 0) await addHours(trx, usage, "keyId");
    if (ofConsumers.length > 0) await addHours(trx, usageOfConsumers, "consumerId");
    if (history.usage.length > 0) await addDays(trx, usage, "keyId");
    if (ofConsumers.length > 0) await addDays(trx, usageOfConsumers, "consumerId");
    if (history.rejections.length > 0) await putRejections(trx, history.rejections);
    if (history.tags.length > 0) await addTags(trx, history.tags);
    if (history.usage.length > 0) {
      await addHours(trx, usage, "keyspaceId");
      await addHours(trx, usage, "workspaceId");
    }
  });
}

const usageColumns = {
  workspaceId: "uuid",
  keyspaceId: "uuid",
  keyId: "uuid",
  consumerId: "uuid",
  hour: "timestamptz",
  outcome: "text",
  count: "bigint",
} as const;

/** The subject that verifications are counted for. */
type SubjectColumn = "keyId" | "consumerId" | "keyspaceId" | "workspaceId";

async function addHours(trx: Trx, usage: RawBuilder<unknown>, subject: SubjectColumn): Promise<void> {
  const subjectId = sql.ref(subject);
  await sql`
    insert into keyspace_usage_hours as known (workspace_id, subject_id, hour, outcome, count)
    select "workspaceId", ${subjectId}, hour, outcome, sum(count) from ${usage}
    where ${subjectId} is not null
    group by 1, 2, 3, 4
    order by 1, 2, 3, 4
    on conflict (workspace_id, subject_id, hour, outcome) do update
      set count = known.count + excluded.count`.execute(trx);
}

async function addDays(trx: Trx, usage: RawBuilder<unknown>, subject: "keyId" | "consumerId"): Promise<void> {
  const subjectId = sql.ref(subject);
  // Halves between whole numbers keep powers of two from being rounded to the wrong side.
  const magnitudeOf = (count: RawBuilder<unknown>) =>
    sql`floor(ln((${count})::double precision + 0.5) / ln(2::double precision))`;
  await sql`
    insert into keyspace_usage_days as known
      (workspace_id, keyspace_id, subject_id, is_consumer, day, count, use_count, magnitude)
    select "workspaceId", "keyspaceId", ${subjectId}, ${subject === "consumerId"}::boolean,
      (hour at time zone 'UTC')::date, sum(count), coalesce(sum(count) filter (where outcome = ${useOutcome}), 0),
      ${magnitudeOf(sql`sum(count)`)}
    from ${usage}
    where ${subjectId} is not null
    group by 1, 2, 3, 5
    order by 1, 3, 5
    on conflict (workspace_id, subject_id, day) do update
      set count = known.count + excluded.count, use_count = known.use_count + excluded.use_count,
        magnitude = ${magnitudeOf(sql`known.count + excluded.count`)}`.execute(trx);
}

/**
 * Adds the usage of tags. A new tag counts as another tag if the keyspace has too many in the hour. Two nodes that add
 * new tags at the same time can each add as many as there is room for.
 */
async function addTags(trx: Trx, rows: KeyspaceHistory["tags"]): Promise<void> {
  const input = asTable(rows, {
    workspaceId: "uuid",
    keyspaceId: "uuid",
    hour: "timestamptz",
    tag: "text",
    outcome: "text",
    count: "bigint",
  });
  await sql`
    insert into keyspace_tag_hours as known (workspace_id, keyspace_id, hour, tag, count, use_count)
    with added as (
      select "workspaceId" as workspace_id, "keyspaceId" as keyspace_id, hour, tag, sum(count) as count,
        coalesce(sum(count) filter (where outcome = ${useOutcome}), 0) as use_count
      from ${input}
      group by 1, 2, 3, 4
    ),
    ranked as (
      select added.*, old.tag is not null or added.tag = ${otherTags} as is_counted,
        row_number() over (
          partition by added.workspace_id, added.keyspace_id, added.hour, old.tag is null and added.tag <> ${otherTags}
          order by added.tag
        ) + (
          select count(*) from keyspace_tag_hours stored
          where stored.workspace_id = added.workspace_id and stored.keyspace_id = added.keyspace_id
            and stored.hour = added.hour and stored.tag <> ${otherTags}
        ) as rank
      from added
      left join keyspace_tag_hours old using (workspace_id, keyspace_id, hour, tag)
    )
    select workspace_id, keyspace_id, hour,
      case when is_counted or rank <= ${maxTagsPerHour} then tag else ${otherTags} end, sum(count), sum(use_count)
    from ranked
    group by 1, 2, 3, 4
    order by 1, 2, 3, 4
    on conflict (workspace_id, keyspace_id, hour, tag) do update
      set count = known.count + excluded.count, use_count = known.use_count + excluded.use_count`.execute(
    trx,
  );
}

async function putRejections(trx: Trx, rows: KeyspaceHistory["rejections"]): Promise<void> {
  const input = asTable(rows, {
    workspaceId: "uuid",
    keyId: "uuid",
    id: "uuid",
    occurredAt: "timestamptz",
    code: "text",
    address: "text",
    requestId: "text",
  });
  await sql`
    insert into issued_key_rejections (workspace_id, key_id, id, occurred_at, code, address, request_id)
    select "workspaceId", "keyId", id, "occurredAt", code, address, "requestId" from ${input}
    order by "keyId", id
    on conflict (key_id, id) do nothing`.execute(trx);
  await deleteSurplus(trx, issuedKeyRejectionLimit, input);
}
