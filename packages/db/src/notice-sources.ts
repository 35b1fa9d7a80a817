import { sql } from "kysely";
import type { KeyId, UserId, WorkspaceId } from "./ids.ts";
import { listManagerIds } from "./members.ts";
import { mintWorkspaceScope } from "./mint-workspace-scope.ts";
import type { NoticeContent, NoticedKey, NoticeFactsByKind } from "./notice-kinds.ts";
import { addMissingEmailJobs, addNotices } from "./notices.ts";
import type { Db, Trx } from "./schema.ts";
import { tryLockMembers } from "./workspace-locks.ts";
import { enterWorkspace } from "./workspace-scope.ts";
import { findWorkspace } from "./workspaces.ts";

/** The most notices per transaction. */
const maxPerStep = 500;
/**
 * The most owners and admins who get a notice about a key of a service account. One statement inserts the notices of a
 * step, so a workspace with hundreds of admins could make it time out for the whole instance.
 */
export const maxManagers = 20;
/** The most steps per source and run; the next run continues. */
const maxSteps = 20;

/**
 * Creates the notices that follow from what is stored: keys that expire soon, old secrets that were rejected, and
 * keys that were used from new networks. Then adds jobs for notices that no job would email. Any number of nodes may do this
 * at the same time.
 */
export async function findNotices(db: Db): Promise<void> {
  const errors: unknown[] = [];
  const addMissingJobs = () => addMissingEmailJobs(db, maxPerStep);
  for (const add of [addExpiryNotices, addOldSecretNotices, addNetworkNotices, addMissingJobs]) {
    const skipped = new Set<WorkspaceId>();
    try {
      for (let step = 0; step < maxSteps; step += 1) if ((await add(db, skipped)) < maxPerStep) break;
    } catch (error) {
      // A source that keeps failing must not prevent the notices of the others.
      errors.push(error);
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, "Some notices could not be created.");
}

interface FoundKey {
  readonly userId: UserId;
  readonly keyId: KeyId;
  readonly keyName: string;
  /** Of a service account; null for a person. */
  readonly workspaceId: WorkspaceId | null;
  readonly accountName: string | null;
}

/** Keys of people and service accounts that aren't disabled, except of service accounts of the skipped workspaces. */
const keysOfUsers = (skipped: ReadonlySet<WorkspaceId>) => sql`
  api_keys key
  join users on users.id = key.user_id and users.disabled_at is null
    and (users.service_workspace_id is null or users.service_workspace_id <> all(${[...skipped]}::uuid[]))`;

/** The columns of a {@link FoundKey}. */
const keyColumns = sql`
  key.user_id as "userId", key.id as "keyId", key.name as "keyName", users.service_workspace_id as "workspaceId",
  case when users.service_workspace_id is not null then users.name end as "accountName"`;

/** SQL for whether nobody has the notice yet. Its subject contains the ID of a key, so it is about one user's key. */
const isNew = (kind: unknown, subject: unknown) => sql`
  not exists (select from notices where notices.kind = ${kind} and notices.subject = ${subject})`;

/**
 * Addresses notices about keys of people to these people, and notices about keys of service accounts to the owners and
 * admins of their workspaces. Enters these workspaces one after the other. Nobody sees those about a disabled workspace.
 * @param skipped gets the workspaces that are being changed. The next run finds their keys again. The next steps of this run must
 * not, because the keys of one workspace would then fill all steps.
 */
async function addKeyNotices<Found extends FoundKey>(
  trx: Trx,
  { found, skipped }: { readonly found: readonly Found[]; readonly skipped: Set<WorkspaceId> },
  describe: (key: Found) => { readonly subject: string } & NoticeContent,
): Promise<void> {
  const managers = new Map<WorkspaceId, readonly UserId[]>();
  const disabled = new Set<WorkspaceId>();
  for (const workspaceId of [...new Set(found.flatMap((key) => key.workspaceId ?? []))].sort()) {
    const scope = mintWorkspaceScope(workspaceId);
    const workspaceTrx = await enterWorkspace(trx, scope);
    // Otherwise, a manager who is removed concurrently could get a notice after the removal has deleted theirs. Doesn't
    // wait, because this transaction holds the locks of other tenants.
    if (!(await tryLockMembers(workspaceTrx, scope))) {
      skipped.add(workspaceId);
      continue;
    }
    managers.set(workspaceId, await listManagerIds(workspaceTrx, scope, maxManagers));
    if ((await findWorkspace(workspaceTrx, scope))?.disabledAt) disabled.add(workspaceId);
  }
  const notices = found.flatMap((key) => {
    const recipients = key.workspaceId === null ? [key.userId] : (managers.get(key.workspaceId) ?? []);
    const isHidden = key.workspaceId !== null && disabled.has(key.workspaceId);
    return recipients.map((userId) => ({ ...describe(key), userId, isHidden }));
  });
  await addNotices(trx, notices);
}

/** The facts in a notice about a key and, if a service account owns the key, about the service account. */
function factsOf({ keyId, keyName, workspaceId, accountName, userId }: FoundKey): NoticedKey {
  if (workspaceId === null || accountName === null) return { keyId, keyName };
  return { keyId, keyName, workspaceId, serviceAccount: { id: userId, name: accountName } };
}

/**
 * A key that was created with a shorter lifetime gets no notice, because its owner has chosen that lifetime recently.
 * The subject contains the expiry, so that a key with another expiry gets notices again.
 */
async function addExpiryNotices(db: Db, skipped: Set<WorkspaceId>): Promise<number> {
  const subject = sql`key.id || ' ' || extract(epoch from expires_at)`;
  const expiring = (
    kind: keyof NoticeFactsByKind,
    days: { readonly from: number; readonly to: number },
  ) => sql`
    (select ${kind}::text as kind, ${subject} as subject, ${keyColumns}, expires_at as "expiresAt"
    from ${keysOfUsers(skipped)}
    where expires_at > clock_timestamp() + make_interval(days => ${days.from})
      and expires_at <= clock_timestamp() + make_interval(days => ${days.to})
      and deleted_at is null and key.disabled_at is null
      and key.created_at <= expires_at - make_interval(days => ${days.to})
      and ${isNew(kind, subject)}
    limit ${maxPerStep})`;
  return await db.transaction().execute(async (trx) => {
    const { rows: found } = await sql<
      FoundKey & {
        readonly kind: "key-expires-in-7-days" | "key-expires-in-1-day";
        readonly subject: string;
        readonly expiresAt: Date;
      }
    >`
      ${expiring("key-expires-in-1-day", { from: 0, to: 1 })}
      union all ${expiring("key-expires-in-7-days", { from: 1, to: 7 })}
      limit ${maxPerStep}`.execute(trx);
    await addKeyNotices(trx, { found, skipped }, (key) => ({
      kind: key.kind,
      subject: key.subject,
      facts: { ...factsOf(key), expiresAt: key.expiresAt.toISOString() },
    }));
    return found.length;
  });
}

/** An old secret gets one notice, when it is rejected for the first time. */
async function addOldSecretNotices(db: Db, skipped: Set<WorkspaceId>): Promise<number> {
  const subject = sql`key.id || ' ' || extract(epoch from secret.retired_at)`;
  return await db.transaction().execute(async (trx) => {
    const { rows: found } = await sql<
      FoundKey & { readonly subject: string; readonly address: string | null }
    >`
      select ${subject} as subject, ${keyColumns}, secret.refused_address as address
      from retired_secrets secret join (${keysOfUsers(skipped)}) on key.id = secret.key_id
      where secret.refused_at > clock_timestamp() - interval '1 day' and secret.refused_at >= secret.good_until
        and deleted_at is null and ${isNew("former-secret-used", subject)}
      limit ${maxPerStep}`.execute(trx);
    await addKeyNotices(trx, { found, skipped }, (key) => ({
      kind: "former-secret-used",
      subject: key.subject,
      facts: { ...factsOf(key), address: key.address },
    }));
    return found.length;
  });
}

/** Excludes the first network of a key, which is not a change. */
async function addNetworkNotices(db: Db, skipped: Set<WorkspaceId>): Promise<number> {
  return await db.transaction().execute(async (trx) => {
    const { rows: seen } = await sql<{ readonly keyId: KeyId; readonly network: string }>`
      select key_id as "keyId", network from key_networks
      where not is_reviewed and not exists (
        select from api_keys key join users on users.id = key.user_id
        where key.id = key_networks.key_id and users.service_workspace_id = any(${[...skipped]}::uuid[]))
      order by first_seen_at limit ${maxPerStep} for update of key_networks skip locked`.execute(trx);
    const [keyIds, networks] = [seen.map(({ keyId }) => keyId), seen.map(({ network }) => network)];
    const { rows: found } = await sql<FoundKey & { readonly network: string }>`
      select ${keyColumns}, seen.network
      from unnest(${keyIds}::uuid[], ${networks}::text[]) as found (key_id, network)
      join key_networks seen using (key_id, network)
      join (${keysOfUsers(skipped)}) on key.id = seen.key_id
      where deleted_at is null and exists (
        select from key_networks other
        where other.key_id = seen.key_id and (other.first_seen_at, other.network) < (seen.first_seen_at, seen.network))
      `.execute(trx);
    await addKeyNotices(trx, { found, skipped }, (key) => ({
      kind: "new-network",
      subject: `${key.keyId} ${key.network}`,
      facts: { ...factsOf(key), network: key.network },
    }));
    const skippedKeys = found.filter(({ workspaceId }) => workspaceId !== null && skipped.has(workspaceId));
    const skippedIds = new Set(skippedKeys.map(({ keyId }) => keyId));
    const reviewed = seen.filter(({ keyId }) => !skippedIds.has(keyId));
    await sql`
      update key_networks set is_reviewed = true
      where (key_id, network) in (
        select * from unnest(
          ${reviewed.map(({ keyId }) => keyId)}::uuid[], ${reviewed.map(({ network }) => network)}::text[]))`.execute(
      trx,
    );
    return seen.length;
  });
}
