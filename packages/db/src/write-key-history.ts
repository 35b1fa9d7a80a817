import { sql } from "kysely";
import { asArrays, asTable, deleteSurplus, writeHistory } from "./history-rows.ts";
import type { KeyId } from "./ids.ts";
import { type HourUsage, type KeyAddress, type KeyRejection, keyHistoryLimits } from "./key-history.ts";
import type { Db, Trx } from "./schema.ts";

/** What a node has recorded about keys since its last write. A row may occur more than once. */
export interface KeyHistory {
  readonly usage: readonly HourUsage[];
  readonly addresses: readonly (KeyAddress & {
    readonly keyId: KeyId;
    /** The network of the address; null or omitted for an address that can't be parsed. */
    readonly network?: string | null;
  })[];
  readonly rejections: readonly (KeyRejection & { readonly keyId: KeyId })[];
  /** Old secrets, by digest in base64: when they were last used, or rejected because their overlap had ended. */
  readonly secrets: readonly {
    readonly digest: string;
    readonly usedAt: Date | null;
    readonly rejectedAt: Date | null;
    readonly rejectedAddress: string | null;
  }[];
}

/**
 * Writes the history that a node recorded, all of it or nothing. Rows are written in the order of their keys, one table
 * after the other, so that two nodes can wait for each other but can't deadlock. If two nodes write about one key at
 * the same time, more rows than `keyHistoryLimits` allows may remain. The next write about that key deletes them.
 * @param db a connection in the admission role.
 * @throws what the driver throws, including when a row stays locked for half a second.
 */
export async function writeKeyHistory(db: Db, history: KeyHistory): Promise<void> {
  await writeHistory(db, async (trx) => {
    if (history.usage.length > 0) await addUsage(trx, history.usage);
    if (history.addresses.length > 0) await putAddresses(trx, history.addresses);
    if (history.addresses.length > 0) await putNetworks(trx, history.addresses);
    if (history.rejections.length > 0) await putRejections(trx, history.rejections);
    if (history.secrets.length > 0) await markSecrets(trx, history.secrets);
    if (history.usage.length > 0) await addWorkspaceUsage(trx, history.usage);
  });
}

const usageColumns = {
  keyId: "uuid",
  hour: "timestamptz",
  workspaceId: "uuid",
  outcome: "text",
  count: "bigint",
} as const;

async function addUsage(trx: Trx, rows: KeyHistory["usage"]): Promise<void> {
  const input = asTable(rows, usageColumns);
  // Prevents the triggers for earlier versions from adding the same rows to the rollups of workspaces.
  await sql`select set_config('latchkey.adds_workspace_usage', 'on', true)`.execute(trx);
  await sql`
    insert into key_usage_hours as known (key_id, hour, workspace_id, outcome, count)
    select "keyId", hour, "workspaceId", outcome, sum(count) from ${input}
    group by 1, 2, 3, 4
    order by 1, 2, 3, 4
    on conflict (key_id, hour, workspace_id, outcome) do update set count = known.count + excluded.count`.execute(
    trx,
  );
}

/**
 * Adds the usage to the rollups of its workspaces. Runs last, because all nodes add to the same rows, which stay locked
 * until the commit.
 */
async function addWorkspaceUsage(trx: Trx, rows: KeyHistory["usage"]): Promise<void> {
  const inWorkspaces = rows.filter(({ workspaceId }) => workspaceId !== null);
  if (inWorkspaces.length === 0) return;
  await sql`select add_workspace_usage(${sql.join(asArrays(inWorkspaces, usageColumns))})`.execute(trx);
}

const addressColumns = {
  keyId: "uuid",
  address: "text",
  network: "text",
  lastSeenAt: "timestamptz",
} as const;

async function putAddresses(trx: Trx, rows: KeyHistory["addresses"]): Promise<void> {
  const input = asTable(rows, addressColumns);
  await sql`
    insert into key_addresses as known (key_id, address, last_seen_at)
    select "keyId", address, max("lastSeenAt") from ${input}
    group by 1, 2
    order by 1, 2
    on conflict (key_id, address) do update
      set last_seen_at = greatest(known.last_seen_at, excluded.last_seen_at)`.execute(trx);
  await deleteSurplus(trx, { table: "key_addresses", ...keyHistoryLimits.key_addresses }, input);
}

/** How long a network is remembered after the last use of the key from it, in days. */
export const networkLifetimeDays = 90;

/**
 * How many networks are remembered per key. The owner of a key that is used from more networks than this gets no more
 * notices about new ones.
 */
const maxNetworks = 100;

/** Remembers the networks of addresses, and renews those that were last seen more than a day ago. */
async function putNetworks(trx: Trx, rows: KeyHistory["addresses"]): Promise<void> {
  const input = asTable(rows, addressColumns);
  await sql`
    insert into key_networks as known (key_id, network, first_seen_at, last_seen_at)
    select seen.key_id, seen.network, seen.at, seen.at
    from (
      select "keyId" as key_id, network, max("lastSeenAt") as at from ${input}
      where network is not null group by 1, 2
    ) seen
    left join key_networks old using (key_id, network)
    where case when old.key_id is null
      then (select count(*) from key_networks other where other.key_id = seen.key_id) < ${maxNetworks}
      else old.last_seen_at < seen.at - interval '1 day' end
    order by 1, 2
    on conflict (key_id, network) do update
      set last_seen_at = greatest(known.last_seen_at, excluded.last_seen_at)`.execute(trx);
}

async function putRejections(trx: Trx, rows: KeyHistory["rejections"]): Promise<void> {
  const input = asTable(rows, {
    keyId: "uuid",
    id: "uuid",
    occurredAt: "timestamptz",
    address: "text",
    method: "text",
    path: "text",
    requestId: "text",
    reason: "text",
  });
  await sql`
    insert into key_refusals (key_id, id, occurred_at, address, method, path, request_id, reason)
    select "keyId", id, "occurredAt", address, method, path, "requestId", reason from ${input}
    order by "keyId", id
    on conflict (key_id, id) do nothing`.execute(trx);
  await deleteSurplus(trx, { table: "key_refusals", ...keyHistoryLimits.key_refusals }, input);
}

/** Locks all rows first, in the order of their hashes, because an update does not guarantee any order. */
async function markSecrets(trx: Trx, rows: KeyHistory["secrets"]): Promise<void> {
  const input = asTable(rows, {
    digest: "text",
    usedAt: "timestamptz",
    rejectedAt: "timestamptz",
    rejectedAddress: "text",
  });
  await sql`
    select from retired_secrets where hash in (select decode(digest, 'base64') from ${input})
    order by hash for no key update`.execute(trx);
  await sql`
    update retired_secrets set last_used_at = greatest(last_used_at, latest.at)
    from (select digest, max("usedAt") as at from ${input} group by 1) latest
    where hash = decode(digest, 'base64') and latest.at is not null`.execute(trx);
  await sql`
    update retired_secrets set refused_at = latest.at, refused_address = latest.address
    from (
      select distinct on (digest) digest, "rejectedAt" as at, "rejectedAddress" as address from ${input}
      where "rejectedAt" is not null order by digest, "rejectedAt" desc
    ) latest
    where hash = decode(digest, 'base64') and (refused_at is null or refused_at < latest.at)`.execute(trx);
}
