import { sql } from "kysely";
import type { KeyId, UserId } from "./ids.ts";
import type { NoticeFactsByKind } from "./notice-kinds.ts";
import { addNotices } from "./notices.ts";
import type { Db } from "./schema.ts";

/** The most notices per transaction. */
const maxPerStep = 500;
/** The most steps per source and run; the next run continues. */
const maxSteps = 20;

/**
 * Creates the notices that follow from what is stored: keys that expire soon, former secrets that were rejected, and
 * keys that were used from new networks. Any number of nodes may do this at the same time.
 */
export async function findNotices(db: Db): Promise<void> {
  for (const noticeSome of [noticeExpiringKeys, noticeFormerSecrets, noticeNetworks]) {
    for (let step = 0; step < maxSteps; step += 1) if ((await noticeSome(db)) < maxPerStep) break;
  }
}

interface FoundKey {
  readonly userId: UserId;
  readonly keyId: KeyId;
  readonly keyName: string;
}

/** Keys of people who can sign in. */
const keysOfPeople = sql`
  api_keys key
  join users on users.id = key.user_id and users.service_workspace_id is null and users.disabled_at is null`;

/** SQL for whether the owner of `key` has no notice yet. */
const isNew = (kind: unknown, subject: unknown) => sql`
  not exists (
    select from notices where notices.user_id = key.user_id and notices.kind = ${kind} and notices.subject = ${subject})`;

/**
 * A key that was created with a shorter lifetime gets no notice: its owner knows. The subject contains the expiry, so
 * that a key with another expiry gets notices again.
 */
async function noticeExpiringKeys(db: Db): Promise<number> {
  const subject = sql`key.id || ' ' || extract(epoch from expires_at)`;
  const expiring = (
    kind: keyof NoticeFactsByKind,
    days: { readonly from: number; readonly to: number },
  ) => sql`
    (select ${kind}::text as kind, ${subject} as subject, key.user_id as "userId", key.id as "keyId",
      key.name as "keyName", expires_at as "expiresAt"
    from ${keysOfPeople}
    where expires_at > clock_timestamp() + make_interval(days => ${days.from})
      and expires_at <= clock_timestamp() + make_interval(days => ${days.to})
      and deleted_at is null and key.disabled_at is null
      and key.created_at <= expires_at - make_interval(days => ${days.to})
      and ${isNew(kind, subject)}
    limit ${maxPerStep})`;
  return await db.transaction().execute(async (trx) => {
    const { rows } = await sql<
      FoundKey & {
        readonly kind: "key-expires-in-7-days" | "key-expires-in-1-day";
        readonly subject: string;
        readonly expiresAt: Date;
      }
    >`
      ${expiring("key-expires-in-1-day", { from: 0, to: 1 })}
      union all ${expiring("key-expires-in-7-days", { from: 1, to: 7 })}
      limit ${maxPerStep}`.execute(trx);
    await addNotices(
      trx,
      rows.map(({ userId, kind, subject: about, keyId, keyName, expiresAt }) => ({
        userId,
        kind,
        subject: about,
        facts: { keyId, keyName, expiresAt: expiresAt.toISOString() },
      })),
    );
    return rows.length;
  });
}

/** A former secret gets one notice, when it is rejected after its overlap for the first time. */
async function noticeFormerSecrets(db: Db): Promise<number> {
  const subject = sql`key.id || ' ' || extract(epoch from secret.retired_at)`;
  return await db.transaction().execute(async (trx) => {
    const { rows } = await sql<FoundKey & { readonly subject: string; readonly address: string | null }>`
      select ${subject} as subject, key.user_id as "userId", key.id as "keyId", key.name as "keyName",
        secret.refused_address as address
      from retired_secrets secret join (${keysOfPeople}) on key.id = secret.key_id
      where secret.refused_at > clock_timestamp() - interval '1 day' and secret.refused_at >= secret.good_until
        and deleted_at is null and ${isNew("former-secret-used", subject)}
      limit ${maxPerStep}`.execute(trx);
    await addNotices(
      trx,
      rows.map(({ userId, subject: about, keyId, keyName, address }) => ({
        userId,
        kind: "former-secret-used" as const,
        subject: about,
        facts: { keyId, keyName, address },
      })),
    );
    return rows.length;
  });
}

/** Excludes the first network of a key, which is not a change. */
async function noticeNetworks(db: Db): Promise<number> {
  return await db.transaction().execute(async (trx) => {
    const { rows: found } = await sql<{ readonly keyId: KeyId; readonly network: string }>`
      select key_id as "keyId", network from key_networks where not is_reviewed
      order by first_seen_at limit ${maxPerStep} for update skip locked`.execute(trx);
    const [keyIds, networks] = [found.map(({ keyId }) => keyId), found.map(({ network }) => network)];
    const { rows } = await sql<FoundKey & { readonly network: string }>`
      select key.user_id as "userId", key.id as "keyId", key.name as "keyName", seen.network
      from unnest(${keyIds}::uuid[], ${networks}::text[]) as found (key_id, network)
      join key_networks seen using (key_id, network)
      join (${keysOfPeople}) on key.id = seen.key_id
      where deleted_at is null and exists (
        select from key_networks other
        where other.key_id = seen.key_id and (other.first_seen_at, other.network) < (seen.first_seen_at, seen.network))
      `.execute(trx);
    await sql`
      update key_networks set is_reviewed = true
      where (key_id, network) in (select * from unnest(${keyIds}::uuid[], ${networks}::text[]))`.execute(trx);
    await addNotices(
      trx,
      rows.map(({ userId, keyId, keyName, network }) => ({
        userId,
        kind: "new-network" as const,
        subject: `${keyId} ${network}`,
        facts: { keyId, keyName, network },
      })),
    );
    return found.length;
  });
}
